"""Multiple imputation by chained Bayesian linear regressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from macfm.judge.methods._encoding import as_shares, draw_categories
from macfm.judge.methods._one_hot import OneHotMethod


@dataclass(frozen=True)
class _Regression:
    """One column's coefficients, drawn from their posterior."""

    coefficients: np.ndarray
    """Shape ``(1 + d, width)``, the intercept first; 0 for the column's own block."""
    sigma: np.ndarray
    """Residual standard deviations, shape ``(width,)``."""
    bounds: tuple[float, float]
    """Between these its draws are kept: one range beyond what was observed."""


class MICE(OneHotMethod):
    """Chained equations with posterior draws, as in van Buuren's ``norm``.

    One sweep regresses each column in turn on all others, draws the coefficients and
    the residual variance from their posterior, and draws the column's missing cells
    from the prediction; a category is drawn in proportion to its clipped scores.
    Several chains of sweeps are run on the training rows, and their coefficients are
    kept: new rows walk through the sweeps of a chain without another fit. Where a
    column has few observed cells for the width of the table, its ridge is raised.

    scikit-learn's ``IterativeImputer`` does the same for numbers, but knows no blocks:
    within a block each indicator is 1 minus the others, so that a chain over indicators
    never leaves its start.
    """

    name: ClassVar[str] = "mice"
    title: ClassVar[str] = "MICE"
    about: ClassVar[str] = "Chained Bayesian linear regressions with posterior draws."
    defaults: ClassVar[dict[str, Any]] = {
        "n_chains": 5,
        "n_sweeps": 10,
        "n_draws": 20,
        "ridge": 1e-3,
    }

    def learn(self, x: np.ndarray) -> None:
        """Run the chains and keep every sweep's coefficients."""
        self.chains_ = []
        for k in range(self.settings["n_chains"]):
            rng = np.random.default_rng([self.seed, 0, k])
            filled = self._start(x)
            sweeps = []
            for _ in range(self.settings["n_sweeps"]):
                sweep = []
                for j in range(len(self.code_.blocks)):
                    regression = self._regress(x, filled, j, rng)
                    self._fill(x, filled, j, regression, rng)
                    sweep.append(regression)
                sweeps.append(sweep)
            self.chains_.append(sweeps)

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the mean of `n_draws` draws; a block holds the mean of its shares."""
        total = np.zeros_like(x)
        for k in range(self.settings["n_draws"]):
            total += self._walk(x, k)[1]
        return total / self.settings["n_draws"]

    def draw(self, table: pd.DataFrame, n: int) -> list[pd.DataFrame]:
        """Return `n` draws, the chains taking turns."""
        x = self.code_.one_hot(table)
        drawn = (self.code_.from_one_hot(self._walk(x, k)[0]) for k in range(n))
        return [self.code_.complete(table, codes) for codes in drawn]

    def _start(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(x), self.code_.center, x)

    def _walk(self, x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Take rows through a chain; return the draw, and it with shares in blocks."""
        rng = np.random.default_rng([self.seed, 1, k])
        filled = self._start(x)
        soft = filled.copy()
        sweeps = self.chains_[k % len(self.chains_)]
        for sweep in sweeps:
            for j, regression in enumerate(sweep):
                self._fill(x, filled, j, regression, rng, soft=soft)
        return filled, soft

    def _regress(
        self, x: np.ndarray, filled: np.ndarray, j: int, rng: np.random.Generator
    ) -> _Regression:
        """Draw the coefficients of column j given all others."""
        block = self.code_.blocks[j]
        shown = ~np.isnan(x[:, block.start])
        design = np.column_stack([np.ones(shown.sum()), filled[shown]])
        others = np.delete(
            np.arange(design.shape[1]), np.arange(1 + block.start, 1 + block.stop)
        )
        design = design[:, others]
        y = x[shown, block]
        gram = design.T @ design
        gram[np.diag_indices_from(gram)] *= 1 + self._ridges(gram, len(y))
        gram[np.diag_indices_from(gram)] += 1e-9 * len(y)
        root = np.linalg.cholesky(gram)
        beta = np.linalg.solve(root.T, np.linalg.solve(root, design.T @ y))
        n_free = max(len(y) - min(len(others), len(y) // 2), 1)
        residual = ((y - design @ beta) ** 2).sum(axis=0)
        sigma = np.sqrt(residual / rng.chisquare(n_free, size=y.shape[1]))
        noise = rng.standard_normal(beta.shape)
        beta = beta + np.linalg.solve(root.T, noise) * sigma
        coefficients = np.zeros((1 + x.shape[1], y.shape[1]))
        coefficients[others] = beta
        low, high = y.min(), y.max()
        reach = high - low
        return _Regression(coefficients, sigma, (low - reach, high + reach))

    def _ridges(self, gram: np.ndarray, n: int) -> np.ndarray:
        """Return each coefficient's ridge, raised until about n/2 of them are free.

        A regression with as many parameters as rows leaves no residual to draw from,
        and its chain runs away. The intercept, the first, keeps the ridge it has.
        """
        ridge = self.settings["ridge"]
        ridges = np.full(len(gram), ridge)
        if 2 * len(gram) <= n:
            return ridges
        scale = np.sqrt(np.diag(gram).clip(min=1e-12))
        levels = np.linalg.eigvalsh(gram / np.outer(scale, scale)).clip(min=0)
        ridge = max(ridge, 1e-6)  # to have something to multiply
        while (levels / (levels + ridge)).sum() > n / 2:
            ridge *= 1.5
        ridges[1:] = ridge
        return ridges

    def _fill(
        self,
        x: np.ndarray,
        filled: np.ndarray,
        j: int,
        regression: _Regression,
        rng: np.random.Generator,
        *,
        soft: np.ndarray | None = None,
    ) -> None:
        """Draw the missing cells of column j into `filled`."""
        block = self.code_.blocks[j]
        rows = np.flatnonzero(np.isnan(x[:, block.start]))
        beta = regression.coefficients
        scores = beta[0] + filled[rows] @ beta[1:]
        if self.code_.columns[j].is_numeric:
            noise = rng.standard_normal(scores.shape)
            drawn = scores + regression.sigma * noise
            filled[rows, block] = drawn.clip(*regression.bounds)
            shares = filled[rows, block]
        else:
            shares = as_shares(scores, self.code_.columns[j].shares)
            chosen = draw_categories(shares, rng)
            filled[rows, block] = np.eye(shares.shape[1])[chosen]
        if soft is not None:
            soft[rows, block] = shares
