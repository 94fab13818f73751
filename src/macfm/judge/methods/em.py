"""Expectation-maximisation for one multivariate normal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from macfm.judge.methods._encoding import as_shares, draw_categories, row_chunks
from macfm.judge.methods._one_hot import OneHotMethod


class EM(OneHotMethod):
    """Fit one normal distribution by EM and fill with its conditional mean.

    With K the inverse covariance, the missing coordinates m of a row given its observed
    coordinates o are normal with covariance K_mm⁻¹ and mean μ_m − K_mm⁻¹ K_mo (x_o −
    μ_o). Rows are treated in batches of similar numbers of missing coordinates.
    """

    name: ClassVar[str] = "em"
    title: ClassVar[str] = "EM"
    about: ClassVar[str] = "One multivariate normal, fitted by EM; conditional means."
    defaults: ClassVar[dict[str, Any]] = {"max_iter": 50, "tol": 1e-4, "ridge": 1e-3}

    def learn(self, x: np.ndarray) -> None:
        """Alternate between conditional moments and the moments of the table."""
        n, d = x.shape
        self.mean_ = self.code_.center
        self.covariance_ = np.diag(np.nanvar(x, axis=0) + self.settings["ridge"])
        for _ in range(self.settings["max_iter"]):
            filled = x.copy()
            spread = np.zeros(d * d)
            for rows, missing, mean, covariance in self._conditionals(x):
                filled[rows[:, None], missing] = mean
                pairs = missing[:, :, None] * d + missing[:, None, :]
                spread += np.bincount(
                    pairs.ravel(), weights=covariance.ravel(), minlength=d * d
                )
            before = self.covariance_
            self.mean_ = filled.mean(axis=0)
            centered = filled - self.mean_
            moment = centered.T @ centered + spread.reshape(d, d)
            self.covariance_ = moment / n + self.settings["ridge"] * np.eye(d)
            change = np.abs(self.covariance_ - before).max()
            if change < self.settings["tol"]:
                break

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the conditional mean."""
        filled = x.copy()
        for rows, missing, mean, _ in self._conditionals(x):
            filled[rows[:, None], missing] = mean
        return filled

    def draw(self, table: pd.DataFrame, n: int) -> list[pd.DataFrame]:
        """Draw numbers from their conditional normal, categories from their shares."""
        x = self.code_.one_hot(table)
        rngs = [np.random.default_rng([self.seed, k]) for k in range(n)]
        mean = x.copy()
        draws = np.repeat(x[None], n, axis=0)
        for rows, missing, center, covariance in self._conditionals(x):
            mean[rows[:, None], missing] = center
            root = np.linalg.cholesky(covariance)
            for k, rng in enumerate(rngs):
                noise = rng.standard_normal((*center.shape, 1))
                draws[k][rows[:, None], missing] = center + (root @ noise)[..., 0]
        completed = []
        for drawn, rng in zip(draws, rngs, strict=True):
            codes = self.code_.from_one_hot(drawn)
            for j, column in enumerate(self.code_.columns):
                if not column.is_numeric:
                    shares = as_shares(mean[:, self.code_.blocks[j]], column.shares)
                    codes[:, j] = draw_categories(shares, rng)
            completed.append(self.code_.complete(table, codes))
        return completed

    def _conditionals(
        self, x: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield batches of rows that miss equally many coordinates, say k.

        Four arrays: the rows ``(b,)``, their missing coordinates ``(b, k)``, and of
        these the conditional mean ``(b, k)`` and covariance ``(b, k, k)``.
        """
        hidden = np.isnan(x)
        precision = np.linalg.inv(self.covariance_)
        deviation = np.where(hidden, 0.0, x - self.mean_)
        pull = deviation @ precision  # K_mo (x_o − μ_o) in the missing coordinates
        n_hidden = hidden.sum(axis=1)
        order = np.argsort(~hidden, axis=1, kind="stable")  # missing ones first
        for k in np.unique(n_hidden[n_hidden > 0]):
            alike = np.flatnonzero(n_hidden == k)
            for part in row_chunks(len(alike), k * k):
                rows = alike[part]
                missing = order[rows, :k]
                block = precision[missing[:, :, None], missing[:, None, :]]
                covariance = np.linalg.inv(block)
                shift = (
                    covariance @ np.take_along_axis(pull[rows], missing, 1)[..., None]
                )
                yield rows, missing, self.mean_[missing] - shift[..., 0], covariance
