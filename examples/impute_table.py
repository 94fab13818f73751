"""Complete the passenger list of the Titanic, which comes with scikit-learn.

The table has numbers, whole numbers, text and categories; a fifth of the ages are
missing, and so are a fare and two ports. Run with `make impute`; the completed table is
written to ``output/completed.csv``, what was done to ``output/summary.txt`` and, as a
page with pictures, to ``output/report.html``.
"""

from __future__ import annotations

import gzip
import importlib.resources
import io
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import macfm
from macfm import MACFMImputer

OUTPUT = Path("output")
NAMES = {
    "pclass": "class",
    "survived": "survived",
    "name": "name",
    "sex": "sex",
    "age": "age",
    "sibsp": "siblings_spouses",
    "parch": "parents_children",
    "ticket": "ticket",
    "fare": "fare",
    "cabin": "cabin",
    "embarked": "port",
    "boat": "boat",
    "body": "body",
    "home.dest": "destination",
}
IDENTIFIERS = ["name", "ticket"]
NOT_USED = ["cabin", "boat", "body", "destination"]


def load_passengers(*, drop: Sequence[str] = NOT_USED) -> pd.DataFrame:
    """Read the 1,309 passengers from the data files inside scikit-learn."""
    file = importlib.resources.files("sklearn.datasets").joinpath(
        "tests/data/openml/id_40945/data-v1-dl-16826755.arff.gz"
    )
    text = gzip.decompress(file.read_bytes()).decode("utf-8")
    rows = text.split("@data\n", 1)[1]
    frame = pd.read_csv(
        io.StringIO(rows),
        names=list(NAMES),
        na_values="?",
        keep_default_na=False,
        escapechar="\\",
    )
    frame = frame.rename(columns=NAMES).drop(columns=list(drop))
    frame["survived"] = frame["survived"].astype(bool)
    return frame


def describe(before: pd.DataFrame, after: pd.DataFrame, draws: list) -> str:
    """Say what was missing, what was filled in and how sure it is."""
    holes = before.isna()
    lines = [
        f"{len(before)} rows, {before.shape[1]} columns, "
        f"{int(holes.sum().sum())} missing cells filled",
        "",
        "column   missing  observed     filled in    sure to within",
    ]
    for name in before.columns[holes.any()]:
        gone = holes[name]
        if pd.api.types.is_numeric_dtype(before[name]):
            seen = f"mean {before[name].mean():.1f}"
            filled = f"mean {after.loc[gone, name].mean():.1f}"
            spread = pd.concat([d.loc[gone, name] for d in draws], axis=1)
            width = spread.quantile(0.95, axis=1) - spread.quantile(0.05, axis=1)
            sure = f"{width.median():.0f} (width of the 90 % interval)"
        else:
            seen = f"mostly {before[name].mode()[0]}"
            filled = ", ".join(sorted(set(after.loc[gone, name])))
            sure = ""
        line = f"{name:<8} {int(gone.sum()):>7}  {seen:<12} {filled:<12} {sure}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def main() -> None:
    passengers = load_passengers()
    began = time.perf_counter()
    imputer = MACFMImputer(
        ordinal={"class": [1, 2, 3]},
        bounds={"age": (0, None), "fare": (0, None)},
        numeric_transform="auto",  # fares have a heavy tail
        ignore=IDENTIFIERS,
        random_state=0,
    )
    completed = imputer.fit_transform(passengers)
    draws = imputer.sample(passengers, n_draws=20)
    seconds = time.perf_counter() - began

    OUTPUT.mkdir(exist_ok=True)
    completed.to_csv(OUTPUT / "completed.csv", index=False)
    summary = describe(passengers, completed, draws)
    (OUTPUT / "summary.txt").write_text(summary + "\n", encoding="utf-8")
    print(summary)
    print(f"\n{OUTPUT / 'completed.csv'} written after {seconds:.0f} s")
    print("comparing with other methods on hidden cells, for the report ...")
    page = macfm.report(
        passengers,
        imputer,
        completed=completed,
        draws=draws,
        name="The Titanic's passengers",
        seconds=seconds,
    )
    page.save(OUTPUT / "report.html")
    print(f"{OUTPUT / 'report.html'} written, open it in a browser")


if __name__ == "__main__":
    main()
