"""Write the model file of the current format that the tests keep for ever.

    python scripts/make_model_fixture.py tests/data

writes ``model-v8.macfm``, two tiny networks on columns of every kind, and
``model-v8.json``: a table with holes as text and what the model fills in. A file that
is there is left alone: run this once for each new format, then never again. The test
that reads the files is in tests/imputer/test_model_file.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from macfm import MACFMImputer, describe_model
from macfm.flow import _margins, _trust
from macfm.table import _transform

N_ROWS = 80


def complete_table() -> pd.DataFrame:
    """Return columns of every kind that hang together."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=N_ROWS)
    noise = rng.normal(size=(N_ROWS, 3))
    day = pd.Timestamp("2024-03-01")
    return pd.DataFrame(
        {
            "id": [f"p{i:03d}" for i in range(N_ROWS)],
            "weight": (70 + 10 * z + noise[:, 0]).round(2),
            "income": np.exp(7 + z + noise[:, 1]).round(2),
            "visits": np.maximum(5 + 2 * z, 0).round(),
            "smoker": z + noise[:, 2] > 0.5,
            "sex": np.where(noise[:, 1] > 0, "f", "m"),
            "ward": np.array(["A", "B", "Ø"])[np.digitize(z, [-0.5, 0.5])],
            "stage": np.array(["I", "II", "III"])[np.digitize(z, [-1, 1])],
            "admitted": day + pd.to_timedelta((30 * z).round(), unit="D"),
            "clinic": "north",
        }
    ).astype({"visits": "Int64", "smoker": "boolean"})


def with_holes(complete: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a quarter of its cells missing."""
    rng = np.random.default_rng(2)
    return complete.mask(rng.random(complete.shape) < 0.25)


def as_text(table: pd.DataFrame) -> dict[str, list[str | None]]:
    """Return cells as text, None where missing."""
    missing = table.isna()
    return {
        name: [
            None if gone else str(cell)
            for cell, gone in zip(table[name], missing[name], strict=True)
        ]
        for name in table
    }


def main(folder: Path) -> int:
    """Fit, save, and write down what the model fills in."""
    # In so few rows, too, incomes have normal scores, draws their margins, and means
    # the calm path.
    _transform.ENOUGH_SEEN = N_ROWS // 2
    _margins._ENOUGH = _margins._ENOUGH_ROWS = _margins._ENOUGH_VALUES = 4
    _trust._LEAST_GAIN = _trust._LEAST_SURE = -1e9
    table = with_holes(complete_table())
    imputer = MACFMImputer(
        ignore=["id"],
        ordinal={"stage": ["I", "II", "III"]},
        bounds={"weight": (40, None), "visits": "observed"},
        n_networks=2,
        n_trees=3,
        mean_steps=3,
        d_model=16,
        n_blocks=1,
        n_frequencies=2,
        batch_size=64,
        max_steps=60,
        evaluate_every=20,
        device="cpu",
        verbose=False,
        random_state=0,
    ).fit(table)
    rows = table.head(12)
    path = folder / "model-new.macfm"
    imputer.save(path)
    version = describe_model(path)["format_version"]
    kept = folder / f"model-v{version}.macfm"
    if kept.exists():
        path.unlink()
        print(f"{kept} is there and stays as it is", file=sys.stderr)
        return 1
    path.rename(kept)
    told = {
        "given": as_text(rows),
        "filled": as_text(imputer.transform(rows)),
        "first_draw": as_text(imputer.sample(rows, n_draws=1)[0]),
    }
    text = json.dumps(told, indent=1, ensure_ascii=False)
    kept.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    print(f"{kept}: {kept.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
