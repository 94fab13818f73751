"""The tables as CSV, a line for each cell, for other programs to read."""

from __future__ import annotations

import csv
import io

import pandas as pd

from macfm._plain import plain
from macfm.bench.report._table import ScoreTable

HEADER = (
    *("row", "title", "column", "value", "std", "n", "best", "flag", "marks"),
    *("note", "published", "published_mark", "published_note"),
)


def table_csv(table: ScoreTable) -> str:
    """Return one table in long form; empty cells keep their reason as a note."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            numbers = (cell.value, cell.std, cell.published)
            value, std, printed = plain(numbers, digits=7)
            writer.writerow(
                [
                    *(row.key, row.title, column.title, value, std, cell.n),
                    *(int(cell.best), int(cell.flag), cell.marks, cell.note, printed),
                    *(cell.published_mark, cell.fault if cell.published_mark else ""),
                ]
            )
    return text.getvalue()


def records_csv(frame: pd.DataFrame) -> str:
    """Return the tidy frame, a line for each cell of the benchmark."""
    return frame.drop(columns=["record", "place"]).to_csv(
        index=False, lineterminator="\n", float_format="%.7g"
    )
