"""Tables ⇄ encoded matrices."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from macfm._errors import ColumnError
from macfm._parallel import side_by_side
from macfm.table._categories import (
    BinaryCodec,
    BitsCodec,
    OneHotCodec,
    OrdinalCodec,
    unseen_values,
    values_for,
)
from macfm.table._column import (
    ColumnData,
    ColumnSchema,
    ColumnTypeError,
    at_fault,
    categories_of,
)
from macfm.table._io import Cells, Table
from macfm.table._numbers import NumberCodec
from macfm.table._objects import object_limits
from macfm.table._schema import TableSchema, check_columns
from macfm.table._stored import check_arrays
from macfm.table._summary import summarise
from macfm.table._transform import N_LANDMARKS, SideBySide
from macfm.table._view import View

Codec = NumberCodec | OrdinalCodec | BinaryCodec | OneHotCodec | BitsCodec

_ROWS_AT_A_TIME = 8_192
# With fewer numbers than this threads are not worth their start, and more threads than
# this wait for each other's Python.
_ENOUGH_FOR_THREADS = 2**18
_MOST_THREADS = 4
# What was observed is never called impossible, whatever the network says: no category
# has less than this part of its share of the observed cells.
_LEAST_SHARE = 0.05
# Normal scores are read off at so many places: all landmarks and the two ends.
_N_KNOTS = N_LANDMARKS + 2
_COMPARABLE = {"float": "number", "integer": "number"}


@dataclass(frozen=True)
class Encoded:
    """An encoded table."""

    #: float32, finite everywhere; 0.0 in unobserved coordinates; shape (n_rows, d).
    x: np.ndarray
    #: True where x says something about the row; shape (n_rows, d).
    observed: np.ndarray


@dataclass(frozen=True)
class EncodedAtoms:
    """The k atoms of all columns as coordinates; arrays of shape (k,)."""

    #: Coordinate that says whether the cell holds the atom.
    flag: np.ndarray
    #: Coordinate of the column's number, or of its normal score.
    number: np.ndarray
    #: What that is in cells that hold the atom, float32.
    value: np.ndarray
    #: What the flag is in other cells, float32.
    low: np.ndarray
    #: What the flag is in cells that hold the atom, float32.
    high: np.ndarray


@dataclass(frozen=True)
class EncodedScores:
    """Normal scores of k columns as coordinates."""

    #: Coordinate of the column's number; shape (k,).
    number: np.ndarray
    #: Coordinate of its normal score; shape (k,).
    score: np.ndarray
    #: Scores, rising in each row, float32; shape (k, n_knots).
    at: np.ndarray
    #: What the number is there, float32; shape (k, n_knots).
    value: np.ndarray


class TableEncoder:
    """Statistics of the observed cells of fit, and the maps they give.

    Attributes
    ----------
    schema : TableSchema
        The columns.
    d : int
        Number of coordinates.
    is_num : ndarray of bool of shape (d,)
        True for numbers, their scores, ranks and times, False for categories and atoms.
    group : ndarray of int64 of shape (d,)
        Position of the coordinate's column among the modelled ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from macfm.table import TableEncoder, TableSchema, as_table
    >>> frame = pd.DataFrame({"age": [30.0, 50.0, None], "sex": ["f", None, "m"]})
    >>> table = as_table(frame)
    >>> encoder = TableEncoder.fit(table, TableSchema.infer(table))
    >>> encoded = encoder.encode(table)
    >>> encoded.x
    array([[-1., -1.],
           [ 1.,  0.],
           [ 0.,  1.]], dtype=float32)
    >>> filled = encoder.complete(table, encoded.x)
    >>> filled["age"].tolist()
    [30.0, 50.0, 40.0]
    """

    def __init__(self, schema: TableSchema, codecs: list[Codec]) -> None:
        self.schema = schema
        self._codecs = codecs
        widths = [column.width for column in schema.modelled]
        scalar = np.array([c.encoding == "scalar" for c in schema.modelled], dtype=bool)
        self.d = sum(widths)
        self.group = np.repeat(np.arange(len(widths), dtype=np.int64), widths)
        # The number comes first, then its atoms, then its normal score.
        first = np.diff(self.group, prepend=-1) > 0
        last = np.diff(self.group, append=len(widths)) > 0
        scored = np.array([c.scores for c in schema.modelled], dtype=bool)
        self.is_num = scalar[self.group] & (first | (last & scored[self.group]))

    @classmethod
    def fit(cls, table: Table, schema: TableSchema) -> TableEncoder:
        """Take statistics from the observed cells of a table."""
        check_columns(schema, table)
        codecs = []
        for j, column in enumerate(schema.columns):
            if column.width:
                data = _checked(column, table.column(j))
                codecs.append(_codec_type(column).fit(column, data))
        return cls(schema, codecs)

    def encode(self, table: Table, *, n_threads: int = 1) -> Encoded:
        """Encode each row by itself, columns side by side.

        A category not seen in fit leaves its coordinates unobserved.
        """
        check_columns(self.schema, table)
        # What columns write lies together, whatever others write at the time.
        n_rows = len(table.observed)  # looked up once, before threads ask for it
        x = np.zeros((self.d, n_rows), dtype=np.float32)
        observed = np.zeros((self.d, n_rows), dtype=bool)
        alike = self._encode_alike(table, x, observed)

        def encode(one: tuple[int, Codec, slice]) -> None:
            j, codec, place = one
            values, known = codec.encode(_checked(codec.column, table.column(j)))
            x[place], observed[place] = values.T, known

        modelled = self._modelled()
        others = [(j, codec, at) for j, _, codec, at in modelled if j not in alike]
        most = _MOST_THREADS if x.size >= _ENOUGH_FOR_THREADS else 1
        side_by_side(encode, others, n_threads=min(n_threads, most))
        return Encoded(np.ascontiguousarray(x.T), np.ascontiguousarray(observed.T))

    def with_cells(self, encoded: Encoded, table: Table, cells: Cells) -> Encoded:
        """Return encoded rows in which some missing cells are known as well."""
        if not cells:
            return encoded
        x, observed = encoded.x.copy(), encoded.observed.copy()
        view = View(table, self.schema, cells)
        for j, _, codec, place in self._modelled():
            if j in cells:
                rows = cells[j][0]
                values, known = codec.encode(_checked(codec.column, view.data(j)))
                x[rows, place] = values[rows]
                observed[rows, place] = known[rows, None]
        return Encoded(x, observed)

    def _encode_alike(
        self, table: Table, x: np.ndarray, observed: np.ndarray
    ) -> Collection[int]:
        """Encode the columns of floats that differ by their scale alone, all at once.

        Returns their positions; what is left is encoded column by column.
        """
        positions, places, transform = self._alike
        if table.floats is None or not positions:
            return ()
        for start in range(0, table.n_rows, _ROWS_AT_A_TIME):
            some = slice(start, start + _ROWS_AT_A_TIME)
            values = table.floats[some, positions].astype(float)
            if np.isinf(values).any():
                return ()  # the column at fault will be named
            known = table.observed[some, positions]
            x[places, some] = np.where(known, transform.forward(values), 0.0).T
            observed[places, some] = known.T
        return frozenset(positions)

    @cached_property
    def _alike(self) -> tuple[list[int], list[int], SideBySide]:
        """Positions, coordinates and transforms of numbers that are scaled only."""
        alike = [
            (j, place.start, codec.transform)
            for j, column, codec, place in self._modelled()
            if isinstance(codec, NumberCodec)
            and column.role == "number"
            and column.width == 1
            and codec.origin == 0
            and not len(codec.transform.landmarks)
        ]
        transforms = SideBySide.of([one for _, _, one in alike])
        return [j for j, _, _ in alike], [place for _, place, _ in alike], transforms

    def complete(self, table: Table, x: np.ndarray, *, drawn: bool = False) -> Any:
        """Return a native copy in which missing cells are decoded from x, (n_rows, d).

        Observed cells are copied, never decoded; columns with ``impute=False`` stay as
        they are. Values that are ``drawn`` are reflected at the bounds of their column,
        central values are squeezed towards them.
        """
        return table.write(self.decode(table, x, drawn=drawn))

    def decode(self, table: Table, x: np.ndarray, *, drawn: bool = False) -> Cells:
        """Return what the missing cells are filled with, for `Table.write`.

        The parameters are those of `complete`.
        """
        check_columns(self.schema, table)
        x = self._checked_x(x, table.n_rows)
        by_position = {j: (codec, place) for j, _, codec, place in self._modelled()}
        cells = {}
        for j, column in enumerate(self.schema.columns):
            rows = np.flatnonzero(~table.observed[:, j])
            if not column.impute or not len(rows):
                continue
            target = adopt(column, _checked(column, table.column(j)))
            if j in by_position:
                codec, place = by_position[j]
                values = _decode(codec, x[rows, place], target, drawn=drawn)
            else:
                values = values_for(categories_of(column), target)[np.zeros_like(rows)]
            cells[j] = (rows, values, target)
        return cells

    def category_probabilities(self, x: np.ndarray, name: Hashable) -> np.ndarray:
        """Probabilities of the categories of one column, from x of shape (n, d).

        Their shape is (n, n_categories), in the order of the column's ``categories``;
        rows sum to 1.
        """
        x = self._checked_x(x, len(x))
        for _, column, codec, place in self._modelled():
            if column.name == name:
                if isinstance(codec, (NumberCodec, OrdinalCodec)):
                    break
                told = codec.probabilities(_finite(x[:, place], name))
                told = np.maximum(told, _LEAST_SHARE * codec.frequencies)
                return told / told.sum(axis=1, keepdims=True)
        raise at_fault(name, "is not a modelled column of categories")

    @cached_property
    def atoms(self) -> EncodedAtoms:
        """Where the atoms of columns of numbers lie, and what they are."""
        places: list[tuple[int, int]] = []
        values: list[tuple[float, float, float]] = []
        for _, column, codec, place in self._modelled():
            if isinstance(codec, NumberCodec):
                numbers = {place.start: codec.atoms.numbers}
                if codec.score is not None:
                    offsets = codec.atoms.offsets
                    numbers[place.stop - 1] = codec.score.forward(offsets)
                flags = range(*codec.flags.indices(column.width))
                for number, own in numbers.items():
                    places += [(place.start + flag, number) for flag in flags]
                    values += zip(own, *codec.atoms.levels, strict=True)
        flag, number = np.array(places, dtype=np.int64).reshape(-1, 2).T.copy()
        value, low, high = np.array(values, dtype=np.float32).reshape(-1, 3).T.copy()
        return EncodedAtoms(flag, number, value, low, high)

    @cached_property
    def scores(self) -> EncodedScores:
        """Where the normal scores of numbers lie, and what they say of them."""
        scored = [
            (place.start, place.stop - 1, *codec.score_map(_N_KNOTS))
            for _, _, codec, place in self._modelled()
            if isinstance(codec, NumberCodec) and codec.score is not None
        ]
        number, score, at, value = zip(*scored, strict=True) if scored else ((),) * 4
        return EncodedScores(
            np.array(number, dtype=np.int64),
            np.array(score, dtype=np.int64),
            np.array(at, dtype=np.float32).reshape(-1, _N_KNOTS),
            np.array(value, dtype=np.float32).reshape(-1, _N_KNOTS),
        )

    def unseen(self, table: Table) -> dict[Hashable, list]:
        """Collect, by column, observed categories which fit did not know."""
        check_columns(self.schema, table)
        found = {}
        for j, column, codec, _ in self._modelled():
            if not isinstance(codec, NumberCodec):
                data = _checked(column, table.column(j))
                values = unseen_values(categories_of(column), data)
                if values:
                    found[column.name] = values
        return found

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return all statistics as numeric arrays, keyed by group and field."""
        return {
            f"{group}.{field}": array
            for group, codec in enumerate(self._codecs)
            for field, array in codec.to_arrays().items()
        }

    @classmethod
    def from_arrays(
        cls, schema: TableSchema, arrays: Mapping[str, np.ndarray]
    ) -> TableEncoder:
        """Undo ``to_arrays``, given the same schema; ValueError for any other."""
        fields: list[dict[str, np.ndarray]] = [{} for _ in schema.modelled]
        places = {str(group): own for group, own in enumerate(fields)}
        for key, array in arrays.items():
            group, _, field = key.partition(".")
            if group not in places:
                raise ValueError(f"there is no column for the stored array {key!r}")
            places[group][field] = np.asarray(array)
        for column, own in zip(schema.modelled, fields, strict=True):
            check_arrays(column, own)
        return cls(
            schema,
            [
                _codec_type(column).from_arrays(column, own)
                for column, own in zip(schema.modelled, fields, strict=True)
            ],
        )

    def summary(self) -> list[dict[str, Any]]:
        """Tell in JSON types what is kept of each column, in the order of the table."""
        codecs = {column.name: codec for _, column, codec, _ in self._modelled()}
        return [summarise(c, codecs.get(c.name)) for c in self.schema.columns]

    def _modelled(self) -> Iterator[tuple[int, ColumnSchema, Codec, slice]]:
        """Walk over position, schema, codec and coordinates of modelled columns."""
        start = 0
        codecs = iter(self._codecs)
        for j, column in enumerate(self.schema.columns):
            if column.width:
                stop = start + column.width
                yield j, column, next(codecs), slice(start, stop)
                start = stop

    def _checked_x(self, x: np.ndarray, n_rows: int) -> np.ndarray:
        x = np.asarray(x)
        if x.shape != (n_rows, self.d):
            raise ValueError(f"x must have shape {(n_rows, self.d)}, got {x.shape}")
        return x


def _codec_type(column: ColumnSchema) -> type[Codec]:
    """Return the codec for a modelled column."""
    if column.encoding == "scalar":
        return OrdinalCodec if column.kind == "ordinal" else NumberCodec
    codecs: dict[str | None, type[Codec]] = {
        "binary": BinaryCodec,
        "onehot": OneHotCodec,
        "bits": BitsCodec,
    }
    return codecs[column.encoding]


def _decode(
    codec: Codec, x: np.ndarray, target: ColumnData, *, drawn: bool
) -> np.ndarray:
    """Turn x of shape (m, width) into m canonical values for the target column."""
    x = _finite(x, target.name).astype(float)
    if isinstance(codec, NumberCodec):
        return codec.decode(x, target, drawn=drawn)
    categories = categories_of(codec.column)
    # Levels of an ordinal column which fit did not see need no place in the target.
    choices = np.arange(len(categories))
    if isinstance(codec, OrdinalCodec):
        choices = codec.ranks
    values = values_for([categories[code] for code in choices], target)
    return values[np.searchsorted(choices, codec.codes(x))]


def _finite(x: np.ndarray, name: Hashable) -> np.ndarray:
    if not np.isfinite(x).all():
        raise ColumnError(
            f"x holds NaN or inf where column {name!r} must be decoded", column=name
        )
    return x


def _checked(column: ColumnSchema, data: ColumnData) -> ColumnData:
    """Refuse a column whose values are of another sort than in fit."""
    if data.family == "unknown":
        return data
    fitted, came = (
        (_COMPARABLE.get(family, family), tz is not None)
        for family, tz in ((column.family, column.tz), (data.family, data.tz))
    )
    if fitted != came:
        why = f"was fitted as {column.dtype} and now comes as {data.dtype}"
        why += "; convert it to the type it had in fit"
        raise at_fault(column.name, why, ColumnTypeError)
    return data


def adopt(column: ColumnSchema, data: ColumnData) -> ColumnData:
    """Give an untyped column without values the type it had in fit."""
    if data.family != "unknown":
        return data
    if data.dtype != "object":
        why = f"was fitted as {column.dtype} and now comes as {data.dtype}, which can "
        why += "hold no value; convert it to the type it had in fit"
        raise at_fault(column.name, why, ColumnTypeError)
    adopted = replace(data, family=column.family, tz=column.tz)
    if column.family == "float":
        return replace(adopted, float_type=np.dtype(float))
    if not adopted.is_time:
        return adopted
    tag = column.dtype.removeprefix("object[").removesuffix("]")
    unit = "D" if tag == "date" else "ns" if column.unit == "ns" else "us"
    dtype = column.dtype if column.dtype.startswith("object[") else "object[Timestamp]"
    return replace(adopted, dtype=dtype, unit=unit, limits=object_limits(tag, unit))
