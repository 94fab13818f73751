"""Monotone maps from the numbers of one column to unit variance, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

N_LANDMARKS = 1000
"""Most quantile landmarks kept per column."""

SCORE_LIMIT = 5.199337582605575
"""Normal score of the probability 1 - 1e-7; scores go no further."""

X_LIMIT = 1e6
"""Encoded values are clipped here, which only outliers of a later table reach."""

KURTOSIS_LIMIT = 20.0
SKEWNESS_LIMIT = 3.0

TRANSFORM_ARRAYS = ("exponent", "landmarks", "scores", "mean", "std")
"""Names of what a fitted transform is stored as."""

SCORE = "score_"
"""What these begin with where they are of a number's normal score, beside its own."""

SKEWED = 2.5
"""Skewness beyond which numbers get normal scores."""

ENOUGH_SEEN, ENOUGH_A_COLUMN = 100, 12
"""Cells that must tell of it, and how many for each column of the table."""


@dataclass(frozen=True)
class NumericTransform:
    """A fitted map ``values → x``, strictly monotone on the values of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> transform = NumericTransform.fit(np.array([1.0, 2.0, 3.0]), "standard")
    >>> transform.inverse(transform.forward(np.array([2.5])))
    array([2.5])
    """

    #: Values are first divided by ``2**exponent``, which is exact and keeps sums of
    #: squares of values like 1e300 finite.
    exponent: int
    #: Scaled values and their normal scores; both empty for "standard"; shape
    #: (n_landmarks,).
    landmarks: np.ndarray
    scores: np.ndarray
    #: Population moments of the scaled values or their scores.
    mean: float
    std: float

    @classmethod
    def fit(cls, values: np.ndarray, method: str) -> NumericTransform:
        """Fit to observed finite values, shape (n_observed,).

        By "standard", by "quantile", whose landmarks are quantiles, or by "score",
        whose landmarks lie as close in the tails as elsewhere.
        """
        exponent = _exponent(values)
        scaled = np.ldexp(values, -exponent)
        if method != "standard" and len(values):
            landmarks, scores = _normal_scores(scaled, to_the_ends=method == "score")
            scaled = np.interp(scaled, landmarks, scores)
        else:
            landmarks = scores = np.empty(0)
        mean, std = _moments(scaled)
        return cls(exponent, landmarks, scores, mean, std)

    def forward(self, values: np.ndarray) -> np.ndarray:
        """Encode finite values, shape (n,), as float64."""
        scaled = _shifted(values, self.exponent)
        if len(self.landmarks):
            scaled = np.interp(scaled, self.landmarks, self.scores)
        return _standardised(scaled, self.mean, self.std)

    def inverse(self, x: np.ndarray) -> np.ndarray:
        """Decode finite x, shape (n,); the result is finite."""
        scaled = self.mean + self.std * np.asarray(x, dtype=float)
        if len(self.landmarks):
            scaled = np.interp(scaled, self.scores, self.landmarks)
        with np.errstate(over="ignore", under="ignore"):
            values = np.ldexp(scaled, self.exponent)
        limit = np.finfo(float).max
        return np.clip(values, -limit, limit)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything fitted, as arrays."""
        return {
            "exponent": np.array(self.exponent, dtype=np.int64),
            "landmarks": self.landmarks,
            "scores": self.scores,
            "mean": np.array(self.mean),
            "std": np.array(self.std),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> NumericTransform:
        """Undo ``to_arrays``."""
        return cls(
            int(arrays["exponent"]),
            np.asarray(arrays["landmarks"], dtype=float),
            np.asarray(arrays["scores"], dtype=float),
            float(arrays["mean"]),
            float(arrays["std"]),
        )


@dataclass(frozen=True)
class SideBySide:
    """Transforms of k columns without landmarks; arrays of shape (k,)."""

    exponent: np.ndarray
    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, transforms: Sequence[NumericTransform]) -> SideBySide:
        """Put transforms beside each other."""
        assert not any(len(one.landmarks) for one in transforms)
        return cls(
            np.array([one.exponent for one in transforms], dtype=np.int64),
            np.array([one.mean for one in transforms]),
            np.array([one.std for one in transforms]),
        )

    def forward(self, values: np.ndarray) -> np.ndarray:
        """Encode values, shape (n, k), each as its column alone; NaN stays."""
        return _standardised(_shifted(values, self.exponent), self.mean, self.std)


def heavy_tailed(values: np.ndarray) -> bool:
    """Tell whether kurtosis or skewness is beyond what a plain scaling suits."""
    if not len(values):
        return False
    z = _standard_scores(values)
    skewness, kurtosis = np.mean(z**3), np.mean(z**4) - 3
    return bool(kurtosis > KURTOSIS_LIMIT or abs(skewness) > SKEWNESS_LIMIT)


def skewed(values: np.ndarray, *, n_columns: int) -> bool:
    """Tell whether numbers lean so far that their normal scores are worth having."""
    if len(values) < max(ENOUGH_SEEN, ENOUGH_A_COLUMN * n_columns):
        return False
    if abs(np.mean(_standard_scores(values) ** 3)) <= SKEWED:
        return False
    return len(np.unique(values)) > 2  # the score of one of two says what it says


def _standard_scores(values: np.ndarray) -> np.ndarray:
    """Bring values, at least one, to mean 0 and variance 1."""
    scaled = np.ldexp(values, -_exponent(values))
    mean, std = _moments(scaled)
    return (scaled - mean) / std


def _shifted(values: np.ndarray, exponent: int | np.ndarray) -> np.ndarray:
    """Divide by a power of two."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, -exponent)


def _standardised(
    scaled: np.ndarray, mean: float | np.ndarray, std: float | np.ndarray
) -> np.ndarray:
    """Bring to mean 0 and variance 1, within the limit."""
    with np.errstate(over="ignore"):
        return np.clip((scaled - mean) / std, -X_LIMIT, X_LIMIT)


def _exponent(values: np.ndarray) -> int:
    """Return the power of two that brings the values into [-1, 1]."""
    return int(np.frexp(np.abs(values).max())[1]) if len(values) else 0


def _moments(values: np.ndarray) -> tuple[float, float]:
    """Mean and population standard deviation, the latter never zero."""
    if not len(values):
        return 0.0, 1.0
    mean = float(values.mean())
    std = float(np.sqrt(np.mean((values - mean) ** 2)))
    return mean, std or 1.0


def _normal_scores(
    values: np.ndarray, *, to_the_ends: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Choose landmarks among the distinct values, with the score of their mid-rank.

    They are even in probability or, `to_the_ends`, in score.
    """
    distinct, counts = np.unique(values, return_counts=True)
    # Tied values share the average of their ranks, so a point mass keeps one score.
    probability = (np.cumsum(counts) - counts / 2) / len(values)
    normal = NormalDist()
    if len(distinct) > N_LANDMARKS:
        first, last = probability[0], probability[-1]
        wanted = np.linspace(first, last, N_LANDMARKS)
        if to_the_ends:
            even = np.linspace(normal.inv_cdf(first), normal.inv_cdf(last), N_LANDMARKS)
            wanted = np.array([normal.cdf(z) for z in even])
        kept = np.unique(np.searchsorted(probability, wanted - 1e-12))
        kept = np.union1d(kept, [0, len(distinct) - 1])
        distinct, probability = distinct[kept], probability[kept]
    scores = np.array([normal.inv_cdf(p) for p in probability])
    return distinct, np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT)
