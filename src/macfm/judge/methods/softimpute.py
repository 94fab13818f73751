"""Low-rank completion by soft-thresholded singular values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from macfm.judge.methods._encoding import row_chunks
from macfm.judge.methods._one_hot import OneHotMethod


class SoftImpute(OneHotMethod):
    """SoftImpute of Mazumder, Hastie and Tibshirani, made inductive.

    Minimises ½‖P(X − Z)‖² + λ‖Z‖_* over the observed cells P, by shrinking the singular
    values of the completed table by λ until it stands still. λ is the best of a falling
    path on a share of the observed training cells, held out column by column.

    With Z = U D Vᵀ and B = V D^½ the same minimum is that of ½‖P(X − A Bᵀ)‖² + λ/2 ‖A‖²
    over the rows of A. So a row, new or not, is filled with its ridge solution
    a = (B_oᵀ B_o + λ)⁻¹ B_oᵀ x_o over its observed coordinates o.
    """

    name: ClassVar[str] = "softimpute"
    title: ClassVar[str] = "SoftImpute"
    about: ClassVar[str] = "Low-rank table by soft-thresholded singular values."
    defaults: ClassVar[dict[str, Any]] = {
        "n_lambdas": 12,
        "held_out": 0.1,
        "max_iter": 200,
        "tol": 1e-4,
    }

    def learn(self, x: np.ndarray) -> None:
        """Choose λ on held-out cells, then complete the training rows with it."""
        x = x - self.code_.center
        rng = np.random.default_rng(self.seed)
        held_out = np.zeros(x.shape, dtype=bool)
        for block in self.code_.blocks:
            held_out[:, block] = rng.random((len(x), 1)) < self.settings["held_out"]
        held_out &= ~np.isnan(x)
        fitted = np.where(held_out, np.nan, x)
        largest = np.linalg.norm(np.nan_to_num(fitted), ord=2)
        path = largest * np.geomspace(0.9, 0.01, self.settings["n_lambdas"])
        z, errors = np.zeros_like(x), []
        for penalty in path:
            z, _ = self._complete(fitted, z, penalty)
            errors.append(float(np.mean((z - x)[held_out] ** 2)))
            if errors[-1] > 1.05 * min(errors):
                break  # past the minimum
        best = int(np.argmin(errors))
        z = np.zeros_like(x)
        for penalty in path[: best + 1]:
            z, loadings = self._complete(x, z, penalty)
        self.penalty_ = float(path[best])
        self.loadings_ = loadings

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Fill rows from their ridge solutions on the loadings."""
        center, loadings = self.code_.center, self.loadings_
        rank = loadings.shape[1]
        products = (loadings[:, :, None] * loadings[:, None, :]).reshape(
            len(center), -1
        )
        filled = x.copy()
        for rows in row_chunks(len(x), rank * rank):
            part = x[rows] - center
            shown = (~np.isnan(part)).astype(float)
            gram = (shown @ products).reshape(-1, rank, rank)
            gram += self.penalty_ * np.eye(rank)
            right = np.nan_to_num(part) @ loadings
            factors = np.linalg.solve(gram, right[..., None])[..., 0]
            low_rank = factors @ loadings.T + center
            filled[rows] = np.where(np.isnan(x[rows]), low_rank, x[rows])
        return filled

    def _complete(
        self, x: np.ndarray, z: np.ndarray, penalty: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Iterate at one λ from `z`; return Z and the loadings V D^½."""
        hidden = np.isnan(x)
        for _ in range(self.settings["max_iter"]):
            completed = np.where(hidden, z, x)
            # The singular values are square roots of the small side's eigenvalues.
            eigenvalues, v = np.linalg.eigh(completed.T @ completed)
            singular = np.sqrt(eigenvalues.clip(min=0))
            shrunk = (singular - penalty).clip(min=0)
            kept = shrunk > 0
            v, shrunk, singular = v[:, kept], shrunk[kept], singular[kept]
            update = completed @ ((v * (shrunk / singular)) @ v.T)
            change = np.linalg.norm(update - z) / max(float(np.linalg.norm(z)), 1e-12)
            z = update
            if change < self.settings["tol"]:
                break
        return z, v * np.sqrt(shrunk)
