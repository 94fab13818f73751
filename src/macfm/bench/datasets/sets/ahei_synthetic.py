"""A made-up diet study in the shape of AHEI-2010, study 1, for those without it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from macfm.bench.datasets._dataset import Dataset
from macfm.bench.datasets._fingerprint import known

SEED = 2010
N_SUBJECTS = 227
VISITS = (1, 2)
# Share of a score's variance that a subject keeps from visit to visit.
STEADY = 0.5
# Mean, spread, and how far the quality of the whole diet goes with the score. They are
# guesses of the size of such scores, taken from no study and fitted to none.
COMPONENTS = {
    "vegetables": (5.0, 3.0, 0.6),
    "fruit": (4.0, 3.5, 0.5),
    "whole_grains": (3.0, 3.0, 0.5),
    "sweet_drinks": (5.0, 5.0, 0.4),
    "nuts_legumes": (4.0, 4.5, 0.4),
    "red_meat": (6.0, 4.0, 0.4),
    "trans_fat": (8.0, 2.0, 0.3),
    "omega_3": (3.0, 4.0, 0.3),
    "polyunsaturated_fat": (6.0, 3.0, 0.2),
    "sodium": (5.0, 3.5, -0.2),
}


def make_study() -> pd.DataFrame:
    """Return a subject a row, every component scored from 0 to 10 at both visits.

    A subject has a quality of diet, which all components share, and a habit in each
    component; both stay from visit to visit. The rest is what was eaten on the day.
    What lies below the least or above the most a component can score is cut there.
    """
    rng = np.random.default_rng(SEED)
    mean, spread, share = np.array(list(COMPONENTS.values())).T  # (n_components,) each
    quality = rng.normal(size=(N_SUBJECTS, 1))
    habit = rng.normal(size=(N_SUBJECTS, len(COMPONENTS)))
    usual = share * quality + np.sqrt(STEADY - share**2) * habit
    columns = {}
    for visit in VISITS:
        day = rng.normal(size=usual.shape)
        scores = mean + spread * (usual + np.sqrt(1 - STEADY) * day)
        for name, column in zip(COMPONENTS, np.clip(scores, 0, 10).T, strict=True):
            columns[f"{name}_{visit}"] = column
    return pd.DataFrame(columns)


DATASET = Dataset(
    name="ahei-synthetic",
    title="Made-up scores in the shape of AHEI-2010, study 1",
    numeric=tuple(f"{name}_{visit}" for visit in VISITS for name in COMPONENTS),
    categorical=(),
    n_rows=N_SUBJECTS,
    source="made by macfm from a seed; no person's data are in it",
    licence="Apache-2.0, as macfm itself",
    note="synthetic: only the numbers of rows and columns are those of a real table",
    read=make_study,
    synthetic=True,
    fingerprint=known("ahei-synthetic"),
)
