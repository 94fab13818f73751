"""What a model file holds, as JSON fields and tensors, each checked when read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from macfm.table import TableEncoder, TableSchema, from_tagged, to_tagged

_MAX_TEXT = 1000
_MAX_INT = 2**63 - 1


@dataclass(frozen=True)
class ModelContents:
    """A fitted imputer in plain types, ready to be written or just read."""

    parameters: Mapping[str, Any]
    """The imputer's own, as ``get_params`` gives them."""
    settings: Mapping[str, Any]
    """The values in force in `fit`, by name."""
    read_out: Mapping[str, Any]
    """The values in force for `transform` when the model was saved, by name."""
    encoder: TableEncoder
    """Columns and their statistics."""
    networks: list[dict[str, np.ndarray]]
    """Weights of each network, by name; none if nothing varied."""
    guide: dict[str, np.ndarray]
    """Mean, precision and trust of the guide, and the calm path; empty without one."""
    polish: dict[str, np.ndarray]
    """What held-out rows add to the networks' answers; empty if nothing."""
    history: Mapping[str, np.ndarray]
    """One column an array, one evaluation a row."""
    seed: int
    """The seed drawn in `fit`."""
    n_steps: int
    """Training steps of all networks together."""
    indicator_features: np.ndarray
    """Positions of the columns that had holes in `fit`."""
    on_frame: bool
    """Whether `fit` was given a frame."""
    named: bool
    """Whether scikit-learn took note of the columns' names."""
    output: str | None
    """What ``set_output`` was told."""
    versions: Mapping[str, str]
    """Versions of macfm and what it stands on, when the model was saved."""

    version: int
    """Format of the file."""

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON fields and tensors."""
        fields = {
            "versions": dict(self.versions),
            "parameters": {k: _tagged(k, v) for k, v in self.parameters.items()},
            "settings": {k: _plain(v) for k, v in self.settings.items()},
            "read_out": {k: _plain(v) for k, v in self.read_out.items()},
            "schema": self.encoder.schema.to_json(),
            "input": {
                "frame": self.on_frame,
                "named": self.named,
                "output": self.output,
                "had_holes": [int(j) for j in self.indicator_features],
            },
            "training": {
                "seed": self.seed,
                "n_steps": self.n_steps,
                "n_networks": len(self.networks),
                "history": list(self.history),
            },
        }
        tensors = {f"encoder.{k}": v for k, v in self.encoder.to_arrays().items()}
        tensors |= {f"history.{k}": v for k, v in self.history.items()}
        tensors |= {f"guide.{k}": v for k, v in self.guide.items()}
        tensors |= {f"polish.{k}": v for k, v in self.polish.items()}
        for k, weights in enumerate(self.networks):
            tensors |= {f"network.{k}.{name}": w for name, w in weights.items()}
        return fields, tensors

    @classmethod
    def from_parts(
        cls, fields: Any, tensors: Mapping[str, np.ndarray], version: int
    ) -> ModelContents:
        """Undo ``to_parts``; ValueError for anything it does not give.

        ``version`` is the format of the file.
        """
        fields = _exact(fields, "the model", set(_FIELDS))
        for name, check in _FIELDS.items():
            check(fields[name])
        schema = TableSchema.from_json(fields["schema"])
        taken, training = fields["input"], fields["training"]
        had_holes = np.array(taken["had_holes"], dtype=np.intp)
        if len(had_holes) and had_holes.max() >= len(schema.columns):
            raise ValueError("a column with holes is beyond the last column")
        parts = _sorted_tensors(tensors, n_networks=training["n_networks"])
        return cls(
            parameters={k: from_tagged(v) for k, v in fields["parameters"].items()},
            settings={k: _unplain(v) for k, v in fields["settings"].items()},
            read_out={k: _unplain(v) for k, v in fields["read_out"].items()},
            encoder=TableEncoder.from_arrays(schema, parts["encoder"]),
            networks=[parts[f"network.{k}"] for k in range(training["n_networks"])],
            guide=parts["guide"],
            polish=parts["polish"],
            history=_history(parts["history"], training["history"]),
            seed=training["seed"],
            n_steps=training["n_steps"],
            indicator_features=had_holes,
            on_frame=taken["frame"],
            named=taken["named"],
            output=taken["output"],
            versions=fields["versions"],
            version=version,
        )


def _sorted_tensors(
    tensors: Mapping[str, np.ndarray], *, n_networks: int
) -> dict[str, dict[str, np.ndarray]]:
    """Sort tensors by what they belong to; refuse those that belong nowhere."""
    parts: dict[str, dict[str, np.ndarray]] = {
        "encoder": {},
        "history": {},
        "guide": {},
        "polish": {},
    }
    for k in range(n_networks):
        parts[f"network.{k}"] = {}
    for name, tensor in tensors.items():
        dots = 2 if name.startswith("network.") else 1
        pieces = name.split(".", dots)
        owner = ".".join(pieces[:dots])
        if owner not in parts or len(pieces) <= dots:
            raise ValueError(f"the tensor {name!r} belongs to nothing")
        parts[owner][pieces[dots]] = tensor
    return parts


def _history(
    arrays: Mapping[str, np.ndarray], columns: list[str]
) -> dict[str, np.ndarray]:
    if set(arrays) != set(columns) or len(set(columns)) != len(columns):
        raise ValueError("the history has other columns than stated")
    shapes = {array.shape for array in arrays.values()}
    good = all(a.ndim == 1 and a.dtype in (float, np.int64) for a in arrays.values())
    if len(shapes) > 1 or not good:
        raise ValueError("the columns of the history must be numbers, equally many")
    return {name: arrays[name] for name in columns}


def _tagged(name: str, value: Any) -> list:
    try:
        return to_tagged(value)
    except TypeError as error:
        raise TypeError(f"in the parameter {name}, {error}") from None


def _plain(value: Any) -> Any:
    """Return a number, text, flag, None or pair of numbers as JSON types."""
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else value


def _unplain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _exact(value: Any, what: str, names: set[str]) -> dict[str, Any]:
    """Refuse anything but an object with these keys."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object")
    if set(value) != names:
        other = sorted(set(value) ^ names)[0][:40]
        raise ValueError(f"{what} has a missing or unknown field {other!r}")
    return value


def _integer(value: Any, what: str, *, high: int = _MAX_INT) -> None:
    if type(value) is not int or not 0 <= value <= high:
        raise ValueError(f"{what} must be an integer from 0 to {high}")


def _text(value: Any, what: str) -> None:
    if type(value) is not str or len(value) > _MAX_TEXT:
        raise ValueError(f"{what} must be a text of at most {_MAX_TEXT} characters")


def _values(what: str) -> Callable[[Any], None]:
    """Return a check of an object whose values are plain: settings."""

    def plain(value: Any) -> bool:
        if isinstance(value, str):
            return len(value) <= _MAX_TEXT
        if type(value) is int:
            return abs(value) <= _MAX_INT
        return value is None or isinstance(value, bool | float)

    def check(value: Any) -> None:
        _object(value, what)
        for name, item in value.items():
            pair = isinstance(item, list) and len(item) == 2 and all(map(plain, item))
            if not (pair or plain(item)):
                raise ValueError(f"{what} {name!r} is no plain value")

    return check


def _object(value: Any, what: str) -> None:
    if not isinstance(value, dict) or len(value) > 1000:
        raise ValueError(f"{what} must be an object of at most 1000 fields")
    for name in value:
        _text(name, what)


def _check_versions(value: Any) -> None:
    _object(value, "versions")
    for name, version in value.items():
        _text(version, f"the version of {name}")


def _check_input(value: Any) -> None:
    _exact(value, "input", {"frame", "named", "output", "had_holes"})
    if type(value["frame"]) is not bool or type(value["named"]) is not bool:
        raise ValueError("frame and named must be flags")
    if value["output"] not in (None, "default", "pandas", "polars"):
        raise ValueError("output must be 'default', 'pandas' or 'polars'")
    had_holes = value["had_holes"]
    if not isinstance(had_holes, list):
        raise ValueError("had_holes must be a list")
    for j in had_holes:
        _integer(j, "a position in had_holes")
    if had_holes != sorted(set(had_holes)):
        raise ValueError("had_holes must rise")


def _check_training(value: Any) -> None:
    _exact(value, "training", {"seed", "n_steps", "n_networks", "history"})
    _integer(value["seed"], "seed", high=2**32 - 1)
    _integer(value["n_steps"], "n_steps")
    _integer(value["n_networks"], "n_networks", high=1024)
    if not isinstance(value["history"], list) or len(value["history"]) > 100:
        raise ValueError("history must be a list of at most 100 columns")
    for name in value["history"]:
        _text(name, "a column of the history")


def _check_schema(value: Any) -> None:
    _exact(value, "schema", {"format", "columns"})


def _check_parameters(value: Any) -> None:
    _object(value, "parameters")


_FIELDS: dict[str, Callable[[Any], None]] = {
    "versions": _check_versions,
    "parameters": _check_parameters,
    "settings": _values("settings"),
    "read_out": _values("read_out"),
    "schema": _check_schema,
    "input": _check_input,
    "training": _check_training,
}
