"""What to run: a spec in TOML, and the cells it stands for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NoReturn

from macfm._errors import ParameterError
from macfm.judge.mechanisms import MECHANISMS

__all__ = ["Ablation", "Cell", "Spec"]

#: Keys of a spec that hold several names or numbers.
LISTS = {"datasets", "methods", "mechanisms", "rates"}
#: Fewest training rows that can be asked for.
LEAST_ROWS = 10


@dataclass(frozen=True)
class Cell:
    """One method on one dataset under one mask: what a record is about."""

    #: Name of the dataset.
    dataset: str
    #: Original quirks of the dataset or of its masks that are put back.
    quirks: tuple[str, ...]
    #: Name of the mechanism.
    mechanism: str
    #: Share of cells to hide.
    rate: float
    #: Number of the mask, from 0.
    mask: int
    #: Registry name of the method.
    method: str
    #: Settings over the method's defaults.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Name and value of the ablation it belongs to, if any.
    ablation: Mapping[str, Any] | None = None
    #: Most training rows; None for all.
    rows: int | None = None

    @property
    def label(self) -> str:
        """The method's name as shown, with what an ablation changed."""
        if self.ablation is None:
            return self.method
        return f"{self.method} {self.ablation['name']}={self.ablation['value']}"

    @property
    def place(self) -> tuple[Any, ...]:
        """Table and mask: cells of one place see the same holes."""
        return (
            self.dataset,
            tuple(self.quirks),
            self.mechanism,
            self.rate,
            self.mask,
            self.rows,
        )

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes a cell the same one in another run."""
        return (*self.place, self.label)

    def to_json(self) -> dict[str, Any]:
        """Return the cell as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cell:
        """Return the cell that `to_json` wrote."""
        return cls(**dict(data) | {"quirks": tuple(data["quirks"])})


@dataclass(frozen=True)
class Ablation:
    """One method with one thing changed, over several values."""

    #: Name of the ablation, as in the report.
    name: str
    #: Registry name of the method that is varied.
    method: str
    #: Value (shown) to the settings it stands for.
    variants: Mapping[str, Mapping[str, Any]]
    #: Datasets, mechanisms, rates and number of masks, where they differ from the spec.
    datasets: tuple[str, ...] | None = None
    mechanisms: tuple[str, ...] | None = None
    rates: tuple[float, ...] | None = None
    masks: int | None = None

    def __post_init__(self) -> None:
        if not self.variants:
            raise ValueError(f"ablation {self.name!r} has no variants")


@dataclass(frozen=True)
class Spec:
    """A run of the benchmark.

    Examples
    --------
    >>> from macfm.bench.spec import Spec
    >>> spec = Spec(datasets=("wine",), mechanisms=("mcar",), rates=(0.3,), masks=2,
    ...             methods=("mean", "knn"))
    >>> [(cell.mask, cell.method) for cell in spec.cells()]
    [(0, 'mean'), (0, 'knn'), (1, 'mean'), (1, 'knn')]
    """

    #: Names of the datasets.
    datasets: tuple[str, ...]
    #: Names of the methods.
    methods: tuple[str, ...]
    #: Names of the mechanisms.
    mechanisms: tuple[str, ...] = ("mcar", "mar", "mnar")
    #: Shares of cells to hide.
    rates: tuple[float, ...] = (0.3,)
    #: Masks for each mechanism and rate, numbered from 0.
    masks: int = 10
    #: Seconds for one method in one cell, loading, fitting and imputing together.
    time_limit: float = 3600.0
    #: Draws from each method that can draw.
    n_draws: int = 20
    #: Most training rows, by a fixed seed; None for all. Test rows stay as they are.
    rows: int | None = None
    #: Settings by method, over the method's own defaults.
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Original quirks to put back, by dataset; "masks" for those of the masks.
    quirks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Methods with one thing varied.
    ablations: tuple[Ablation, ...] = ()
    #: One line on what the run is for.
    about: str = ""

    def __post_init__(self) -> None:
        for rate in self.rates:
            if not isinstance(rate, int | float) or not 0 < rate < 1:
                _refuse("rates", f"rates must lie between 0 and 1, got {rate!r}")
        for mechanism in self.mechanisms:
            if mechanism not in MECHANISMS:
                known = ", ".join(MECHANISMS)
                _refuse("mechanisms", f"no mechanism {mechanism!r}; there are: {known}")
        if self.masks < 1:
            _refuse("masks", f"masks must be at least 1, got {self.masks}")
        if self.time_limit <= 0:
            _refuse("time_limit", f"time_limit must be positive, got {self.time_limit}")
        if self.n_draws < 2:
            _refuse("n_draws", f"n_draws must be at least 2, got {self.n_draws}")
        if self.rows is not None and self.rows < LEAST_ROWS:
            _refuse("rows", f"rows must be at least {LEAST_ROWS}, got {self.rows}")
        for name in self.settings:
            if name not in self.methods:
                _refuse("settings", f"settings for {name!r}, which is not in methods")

    @classmethod
    def read(cls, path: str | Path) -> Spec:
        """Read a spec from a TOML file; a key it does not know is an error."""
        path = Path(path)
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is not a TOML file: {error}") from None
        try:
            return cls.from_dict(data)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Spec:
        """Return the spec of what a TOML file holds."""
        data = dict(data)
        data["ablations"] = tuple(
            _build(Ablation, entry) for entry in data.get("ablations", ())
        )
        quirks = data.get("quirks", {})
        data["quirks"] = {name: tuple(values) for name, values in quirks.items()}
        return _build(cls, data)

    def narrowed(
        self,
        *,
        datasets: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        mechanisms: Sequence[str] | None = None,
        rates: Sequence[float] | None = None,
        masks: int | None = None,
        rows: int | None = None,
    ) -> Spec:
        """Return the spec with other lists; its ablations keep what is in them too.

        An ablation of a method that is not listed is left out.
        """
        lists: dict[str, Sequence[Any] | None] = {
            "datasets": datasets,
            "methods": methods,
            "mechanisms": mechanisms,
            "rates": rates,
        }
        given: dict[str, Any] = {
            key: tuple(value) for key, value in lists.items() if value is not None
        }
        ablations = []
        for ablation in self.ablations:
            if methods is not None and ablation.method not in methods:
                continue
            kept: dict[str, Any] = {
                key: tuple(v for v in getattr(ablation, key) or values if v in values)
                for key, values in given.items()
                if key != "methods"
            }
            if all(kept.values()):
                fewer = min(ablation.masks or self.masks, masks or self.masks)
                ablations.append(replace(ablation, **kept, masks=fewer))
        settings = self.settings
        if methods is not None:
            settings = {k: v for k, v in settings.items() if k in methods}
        return replace(
            self,
            **given,
            masks=masks or self.masks,
            rows=rows or self.rows,
            settings=settings,
            ablations=tuple(ablations),
        )

    def only_ablations(self, names: Sequence[str]) -> Spec:
        """Return the spec of these ablations and nothing else."""
        known = [ablation.name for ablation in self.ablations]
        for name in names:
            if name not in known:
                there = ", ".join(known) or "none"
                _refuse("ablations", f"no ablation {name!r}; there are: {there}")
        kept = [
            replace(ablation, datasets=ablation.datasets or self.datasets)
            for ablation in self.ablations
            if ablation.name in names
        ]
        return replace(self, datasets=(), ablations=tuple(kept))

    def cells(self) -> Iterator[Cell]:
        """Every cell of the run, those that share a table and a mask together."""
        places = _places(self.datasets, self.mechanisms, self.rates, self.masks)
        for place in places:
            for method in self.methods:
                yield self._cell(place, method, {}, None)
        for ablation in self.ablations:
            places = _places(
                ablation.datasets or self.datasets,
                ablation.mechanisms or self.mechanisms,
                ablation.rates or self.rates,
                ablation.masks or self.masks,
            )
            for place in places:
                for value, settings in ablation.variants.items():
                    what = {"name": ablation.name, "value": _number(value)}
                    yield self._cell(place, ablation.method, settings, what)

    def _cell(
        self,
        place: tuple[str, str, float, int],
        method: str,
        settings: Mapping[str, Any],
        ablation: Mapping[str, Any] | None,
    ) -> Cell:
        """The cell of one method in one place."""
        dataset, mechanism, rate, mask = place
        quirks = (*self.quirks.get(dataset, ()), *self.quirks.get("masks", ()))
        settings = dict(self.settings.get(method, {})) | dict(settings)
        return Cell(
            dataset,
            quirks,
            mechanism,
            rate,
            mask,
            method,
            settings,
            ablation,
            rows=self.rows,
        )


def _refuse(parameter: str, why: str) -> NoReturn:
    raise ParameterError(why, parameter=parameter)


def _places(
    datasets: Sequence[str],
    mechanisms: Sequence[str],
    rates: Sequence[float],
    masks: int,
) -> list[tuple[str, str, float, int]]:
    """Mask by mask, so that a run broken off has whole masks."""
    return [
        (dataset, mechanism, float(f"{rate:.7g}"), mask)  # as records keep it
        for mask in range(masks)
        for rate in rates
        for dataset in datasets
        for mechanism in mechanisms
    ]


def _build(kind: type, data: Mapping[str, Any]) -> Any:
    """A dataclass of `data`, refusing keys it does not have."""
    known = [entry.name for entry in fields(kind)]
    for key in data:
        if key not in known:
            raise ValueError(f"no key {key!r}; there are: {', '.join(known)}")
    for key in LISTS.intersection(data):
        if not isinstance(data[key], list | tuple):
            raise ValueError(f"{key} must be a list, got {data[key]!r}")
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return kind(**values)


def _number(value: str) -> str | int | float:
    """A key of a TOML table as the number it stands for, if it is one."""
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
