"""What the README promises about error and time, on real and on made-up tables."""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer


@pytest.mark.data
# Of single columns, such as the asymmetry of a shower in magic, nothing else tells.
@pytest.mark.filterwarnings("ignore:on held-out rows")
@pytest.mark.parametrize(
    ("dataset", "target", "limit"),
    [("letter", "lettr", 0.70), ("magic", "class", 0.78)],
)
def test_new_rows_are_filled_far_better_than_by_the_mean(dataset, target, limit):
    frame = pd.read_parquet(Path(os.environ["MACFM_DATA"]) / f"{dataset}.parquet")
    full = frame.drop(columns=target).sample(4000, random_state=0).astype(float)
    hidden = np.random.default_rng(0).random(full.shape) < 0.3
    holes = full.mask(hidden)
    train, test = holes.iloc[:3000], holes.iloc[3000:]
    model = MACFMImputer(preset="fast", random_state=0, device="cpu").fit(train)
    scale = train.std(ddof=0)
    scored = hidden[3000:]
    miss = ((model.transform(test) - full.iloc[3000:]) / scale).to_numpy()[scored]
    naive = ((train.mean() - full.iloc[3000:]) / scale).to_numpy()[scored]
    assert np.sqrt(np.mean(miss**2)) < limit * np.sqrt(np.mean(naive**2))


@pytest.mark.slow
def test_default_completes_two_thousand_rows_within_a_minute():
    rng = np.random.default_rng(0)
    full = np.tanh(rng.normal(size=(2000, 5)) @ rng.normal(size=(5, 20)))
    hidden = rng.random(full.shape) < 0.3
    began = time.perf_counter()
    filled = MACFMImputer(random_state=0, device="cpu").fit_transform(
        np.where(hidden, np.nan, full)
    )
    assert time.perf_counter() - began < 60
    assert np.sqrt(np.mean((filled - full)[hidden] ** 2)) < 0.45 * full.std()
