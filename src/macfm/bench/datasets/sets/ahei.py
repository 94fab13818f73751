"""AHEI: three private tables of diet studies, loaded from their owner's files."""

from __future__ import annotations

from macfm.bench.datasets._dataset import Dataset

OBTAIN = (
    "The AHEI tables are private: people with access to the study export a table of "
    "their own, with its identifiers removed."
)


def _study(number: int, n_rows: int, n_columns: int) -> Dataset:
    return Dataset(
        name=f"ahei-s{number}",
        title=f"AHEI-2010, study {number}",
        numeric=(),
        categorical=(),
        source="private NIH data",
        licence="data use agreement of the study",
        note=f"{n_rows} rows and {n_columns} columns in the paper; which columns are "
        "numbers is inferred",
        obtain=OBTAIN,
        private=True,
        file=f"ahei_s{number}",
    )


DATASETS = (_study(1, 227, 20), _study(3, 201, 24), _study(4, 220, 26))
