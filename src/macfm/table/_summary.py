"""What a fitted encoder keeps of a column, in words and numbers for a person."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from macfm.table._categories import OrdinalCodec
from macfm.table._column import ColumnSchema
from macfm.table._numbers import NumberCodec
from macfm.table._ticks import NANOSECONDS
from macfm.table._transform import NumericTransform

_SECOND = 10**9


def summarise(column: ColumnSchema, codec: Any | None) -> dict[str, Any]:
    """Describe one column, as plain JSON types; without a codec it is not modelled.

    Always ``name``, ``kind``, ``dtype``, ``imputed`` and ``reveals``, a list of what
    somebody who holds the model learns of the values of fit. Where there is such a
    thing ``categories``, ``frequencies``, ``bounds``, ``mean``, ``std``, ``quantiles``
    (smallest, three quartiles, largest), ``n_quantiles``, ``atoms`` and their
    ``shares``.
    """
    told: dict[str, Any] = {
        "name": str(column.name),
        "kind": column.kind,
        "dtype": column.dtype,
        "imputed": column.impute,
    }
    reveals = ["the column's name"]
    if column.categories is not None:
        told["categories"] = [str(category) for category in column.categories]
        one = len(column.categories) == 1
        reveals.append("its only value" if one else "the names of its categories")
    frequencies = getattr(codec, "frequencies", None)
    if frequencies is not None:
        told["frequencies"] = frequencies.tolist()
        reveals.append("how frequent each category was")
    if column.bounds is not None:
        told["bounds"] = [_shown(end, column) for end in column.bounds]
        reveals.append("its bounds and the observed values nearest to them")
    if isinstance(codec, NumberCodec):
        facts, learned = _number_facts(column, codec)
        told |= facts
        reveals += learned
    elif isinstance(codec, OrdinalCodec):
        told["mean"], told["std"] = _moments(codec.transform)
        reveals.append("mean and standard deviation of its ranks")
    return told | {"reveals": reveals}


def _number_facts(
    column: ColumnSchema, codec: NumberCodec
) -> tuple[dict[str, Any], list[str]]:
    """Return moments or quantiles on the scale of the column, and what they tell."""
    facts: dict[str, Any] = {}
    learned: list[str] = []
    ranked = codec.transform if codec.score is None else codec.score
    if len(ranked.landmarks):
        facts |= _quantiles(ranked, column, codec.origin)
        n = facts["n_quantiles"]
        learned.append(f"{n} of its values, the smallest and the largest among them")
    if ranked is not codec.transform or not len(ranked.landmarks):
        mean, std = _moments(codec.transform)
        facts["mean"] = _placed(mean, column, codec.origin)
        facts["std"] = _length(std) if column.unit else std
        learned.append("its mean and standard deviation")
    if column.atoms:
        shares = codec.atoms.shares.tolist()
        facts |= {"atoms": list(column.atoms), "shares": shares}
    if column.family != "float":
        learned.append("one of its values, near the median")
    if column.atoms:
        learned.append("values that it often repeats, and how often")
    if codec.calendar is not None:
        learned.append("the days of a year, a month or a week that its dates keep to")
    return facts, learned


def _quantiles(
    transform: NumericTransform, column: ColumnSchema, origin: int
) -> dict[str, Any]:
    """Return the smallest, the quartiles and the largest of the values it keeps."""
    from scipy.special import ndtr  # late: most readers of a table do without

    offsets = np.ldexp(transform.landmarks, transform.exponent)
    quartiles = np.interp(
        np.array([0, 0.25, 0.5, 0.75, 1]), ndtr(transform.scores), offsets
    )
    quartiles[[0, -1]] = offsets[[0, -1]]
    return {
        "quantiles": [_placed(value, column, origin) for value in quartiles],
        "n_quantiles": len(offsets),
    }


def _moments(transform: NumericTransform) -> tuple[float, float]:
    """Mean and standard deviation before scaling."""
    mean, std = np.ldexp([transform.mean, transform.std], transform.exponent)
    return float(mean), float(std)


def _placed(offset: float, column: ColumnSchema, origin: int) -> Any:
    """Return a distance from the origin as a value of the column."""
    if column.unit is not None:
        return _shown(origin + round(float(offset)), column)
    return float(offset) + origin


def _shown(value: Any, column: ColumnSchema) -> Any:
    """Return a bound or value as a number, or times as text."""
    if value is None or column.unit is None:
        return value
    if column.family == "timedelta":
        return _length(value)
    seconds = value // _SECOND
    moment = str(np.datetime64(min(max(seconds, -(2**62)), 2**62), "s"))
    whole_days = column.unit == "D" and column.tz is None
    return moment[:-9] if whole_days else f"{moment}Z" if column.tz else moment


def _length(nanoseconds: float) -> str:
    """Return a length of time as text."""
    try:
        return str(dt.timedelta(microseconds=float(nanoseconds) / NANOSECONDS["us"]))
    except OverflowError:
        return f"{nanoseconds / NANOSECONDS['D']:.0f} days"
