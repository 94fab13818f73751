"""News: articles of an online magazine, their words, links and keywords."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_member, read_text
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

CHANNELS = ("lifestyle", "entertainment", "bus", "socmed", "tech", "world")
WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)
NUMERIC = (
    *("timedelta", "n_tokens_title", "n_tokens_content", "n_unique_tokens"),
    *("n_non_stop_words", "n_non_stop_unique_tokens", "num_hrefs", "num_self_hrefs"),
    *("num_imgs", "num_videos", "average_token_length", "num_keywords"),
    *("kw_min_min", "kw_max_min", "kw_avg_min", "kw_min_max", "kw_max_max"),
    *("kw_avg_max", "kw_min_avg", "kw_max_avg", "kw_avg_avg"),
    *("self_reference_min_shares", "self_reference_max_shares"),
    *("self_reference_avg_sharess", "LDA_00", "LDA_01", "LDA_02", "LDA_03", "LDA_04"),
    *("global_subjectivity", "global_sentiment_polarity"),
    *("global_rate_positive_words", "global_rate_negative_words"),
    *("rate_positive_words", "rate_negative_words", "avg_positive_polarity"),
    *("min_positive_polarity", "max_positive_polarity", "avg_negative_polarity"),
    *("min_negative_polarity", "max_negative_polarity", "title_subjectivity"),
    *("title_sentiment_polarity", "abs_title_subjectivity"),
    "abs_title_sentiment_polarity",
)


def parse(archive: Path) -> pd.DataFrame:
    """Read the CSV of the archive, whose names begin with blanks."""
    content = read_member(archive, "OnlineNewsPopularity.csv")
    frame = read_text(content, dtype={"url": str})
    frame.columns = [str(c).strip() for c in frame.columns]
    return frame


def fold(
    source: pd.DataFrame, prefix: str, names: Sequence[str], none: str
) -> pd.Series:
    """Fold 0/1 columns into one of names, `none` where no flag is set."""
    flags = source[[f"{prefix}{name}" for name in names]].to_numpy() == 1
    labels = np.array([*names, none], dtype=object)
    chosen = np.where(flags.any(axis=1), flags.argmax(axis=1), len(names))
    return pd.Series(list(labels[chosen]), index=source.index)


def repair(source: pd.DataFrame, quirks: Collection[str]) -> pd.DataFrame:
    """Fold the flags and remove the corrupt article, unless quirks ask otherwise."""
    none = "lifestyle" if "no-channel-is-lifestyle" in quirks else "none"
    frame = source.assign(
        data_channel=fold(source, "data_channel_is_", CHANNELS, none),
        weekday=fold(source, "weekday_is_", WEEKDAYS, "none"),
    )
    if "keep-corrupt-article" in quirks:
        return frame
    # A share of different words that says 701; two more of its shares are wrong.
    return frame[frame["n_unique_tokens"] != 701]


DATASET = Dataset(
    name="news",
    title="Online News Popularity",
    numeric=NUMERIC,
    categorical=("data_channel", "weekday"),
    target="shares",
    n_rows=39_643,
    source="Fernandes, Vinagre, Cortez and Sernadela (2015), UCI 332, "
    "doi:10.24432/C5NS3V",
    licence=LICENCE,
    note="url is left out, and is_weekend as the weekday says it; "
    "one corrupt article of 39,644 is removed",
    quirks={
        "keep-corrupt-article": "keep the article whose n_unique_tokens is 701: "
        "39,644 rows",
        "no-channel-is-lifestyle": "count the 6,134 articles without a channel as "
        "lifestyle",
    },
    repair=repair,
    download=Download(uci_file(332, "online+news+popularity"), parse),
    sha256="301e2cd12f807b91b58cd8b47c3cd188c745ba4ae9fbde7064bccc945ae9b7f1",
    fingerprint=known("news"),
)
