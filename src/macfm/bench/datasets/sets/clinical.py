"""Clinical tables, with cells missing in the source, that anyone can have."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_member, read_text
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

HEPATITIS = (
    *("DIE_LIVE", "AGE", "SEX", "STEROID", "ANTIVIRAL", "FATIGUE", "MALAISE"),
    *("ANOREXIA", "LIVER_BIG", "LIVER_FIRM", "SPLEEN_PALPABLE", "SPIDERS", "ASCITES"),
    *("VARICES", "BILIRUBIN", "ALK_PHOSPHATE", "SGOT", "ALBUMIN", "PROTIME"),
    "HISTOLOGY",
)
HEPATITIS_NUMERIC = ("AGE", "BILIRUBIN", "ALK_PHOSPHATE", "SGOT", "ALBUMIN", "PROTIME")

COLIC = (
    *("surgery", "age", "hospital_number", "rectal_temp", "pulse", "respiratory_rate"),
    *("temp_of_extremities", "peripheral_pulse", "mucous_membrane"),
    *("capillary_refill_time", "pain", "peristalsis", "abdominal_distention"),
    *("nasogastric_tube", "nasogastric_reflux", "nasogastric_reflux_ph"),
    *("rectal_exam_feces", "abdomen", "packed_cell_volume", "total_protein"),
    *("abdomo_appearance", "abdomo_protein", "outcome", "surgical_lesion"),
    *("lesion_1", "lesion_2", "lesion_3", "cp_data"),
)
COLIC_NUMERIC = (
    *("rectal_temp", "pulse", "respiratory_rate", "nasogastric_reflux_ph"),
    *("packed_cell_volume", "total_protein", "abdomo_protein"),
)
LESIONS = ("lesion_1", "lesion_2", "lesion_3")
COLIC_UNUSED = (*LESIONS, "hospital_number", "surgical_lesion")

# Scores (scoma, sps, aps, avtisst), counts (num.co, adlp, adls) and chances (surv2m to
# prg6m) are numbers; diabetes and dementia are 0 or 1, what is text in the source is
# categories.
SUPPORT_NUMERIC = (
    *("age", "slos", "num.co", "edu", "scoma", "charges", "totcst", "totmcst"),
    *("avtisst", "sps", "aps", "surv2m", "surv6m", "hday", "prg2m", "prg6m"),
    *("dnrday", "meanbp", "wblc", "hrt", "resp", "temp", "pafi", "alb", "bili"),
    *("crea", "sod", "ph", "glucose", "bun", "urine", "adlp", "adls", "adlsc"),
)
SUPPORT_CATEGORICAL = (
    *("sex", "dzgroup", "dzclass", "income", "diabetes", "dementia", "ca", "race"),
    *("dnr", "sfdm2"),
)


def parse_hepatitis(archive: Path) -> pd.DataFrame:
    """Read the headerless data file of the archive."""
    return read_text(read_member(archive, "hepatitis.data"), names=list(HEPATITIS))


def parse_colic(archive: Path) -> pd.DataFrame:
    """Read the headerless training file, its cells parted by blanks."""
    content = read_member(archive, "horse-colic.data")
    text = dict.fromkeys(LESIONS, str)
    return read_text(content, names=list(COLIC), sep=r"\s+", dtype=text)


def _from_r(package: str, name: str, file: str) -> str:
    return (
        f"It comes with the R package {package}. In R: "
        f'write.csv({package}::{name}, "{file}.csv", row.names = FALSE).'
    )


DATASETS = (
    Dataset(
        name="hepatitis",
        title="Hepatitis",
        numeric=HEPATITIS_NUMERIC,
        categorical=tuple(
            c for c in HEPATITIS if c not in (*HEPATITIS_NUMERIC, "DIE_LIVE")
        ),
        target="DIE_LIVE",
        n_rows=155,
        source="UCI 46, doi:10.24432/C5Q59J",
        licence=LICENCE,
        note="167 cells are missing in the source",
        download=Download(uci_file(46, "hepatitis"), parse_hepatitis),
        file="natural/hepatitis",
        sha256="c36cc856826756a0f4e7eb514dd19a93cf69b97d13eed3a6e50d51b5a7b2bf5f",
        fingerprint=known("hepatitis"),
    ),
    Dataset(
        name="horse_colic",
        title="Horse Colic",
        numeric=COLIC_NUMERIC,
        categorical=tuple(c for c in COLIC if c not in (*COLIC_NUMERIC, *COLIC_UNUSED)),
        target="surgical_lesion",
        n_rows=300,
        source="McLeish and Cecile (1989), UCI 47, doi:10.24432/C58W23",
        licence=LICENCE,
        note="1,605 cells are missing in the source; the hospital number and the "
        "three lesion codes, 61 kinds in 300 rows, are left out",
        download=Download(uci_file(47, "horse+colic"), parse_colic),
        file="natural/horse_colic",
        sha256="c8f5fcc2d2740938eb169eeb2a9eb26d5d1e3dd6126fc4188d8c45ae82a69905",
        fingerprint=known("horse_colic"),
    ),
    Dataset(
        name="support2",
        title="SUPPORT2, seriously ill adults in hospital",
        numeric=SUPPORT_NUMERIC,
        categorical=SUPPORT_CATEGORICAL,
        target="death",
        n_rows=9_105,
        source="Knaus and others (1995), UCI 880, doi:10.3886/ICPSR02957.v2",
        licence=LICENCE,
        note="47,110 cells are missing in the source; death in hospital and follow-up "
        "time are left out. Laboratory values are missing where they were not ordered; "
        "adlsc is the source's own imputation from adlp and adls",
        obtain="Export the table of UCI 880 or of hbiostat.org, 9,105 rows and 47 "
        "columns without a row number, as support2.csv.",
        file="natural/support2",
        sha256="3643d7e2d4c34319ed905ac4cd5078be09ecfc2de2b30ede8b4c5f6720cb6312",
        fingerprint=known("support2"),
    ),
    Dataset(
        name="pbcseq",
        title="Primary biliary cholangitis, visits",
        numeric=(
            *("age", "day", "bili", "chol", "albumin", "alk.phos", "ast", "platelet"),
            "protime",
        ),
        categorical=("trt", "sex", "ascites", "hepato", "spiders", "edema", "stage"),
        target="status",
        n_rows=1_945,
        source="Mayo Clinic; object pbcseq of the R package survival",
        licence="LGPL (>= 2), with the package",
        note="312 patients with several visits each, so that a patient may be on both "
        "sides of the split; id and follow-up time are left out",
        obtain=_from_r("survival", "pbcseq", "pbcseq"),
        file="longitudinal/pbcseq",
        sha256="ac7e6e79f3214ebeb4cd0fae7a5cc55df4c66339980a083e7ec61b4b7bb389c9",
        fingerprint=known("pbcseq"),
    ),
    Dataset(
        name="heart_valve",
        title="Aortic valve replacement, visits",
        numeric=("age", "time", "grad", "lvmi", "ef", "bsa", "size", "creat"),
        categorical=(
            *("sex", "lvh", "prenyha", "redo", "con.cabg", "dm", "acei", "lv"),
            *("emergenc", "hc", "sten.reg.mix", "hs"),
        ),
        target="status",
        n_rows=988,
        source="Lim and others (2008); object heart.valve of the R package joineR",
        licence="GPL-3, with the package",
        note="256 patients with several visits each, so that a patient may be on both "
        "sides of the split; id and follow-up time are left out, and the logarithms of "
        "grad and lvmi, which would give them away",
        obtain=_from_r("joineR", "heart.valve", "heart_valve"),
        file="longitudinal/heart_valve",
        sha256="dac5f4a145938cca0768ae9811759068f4d2b012d99789dac5cdcc4765fcd40b",
        fingerprint=known("heart_valve"),
    ),
)
