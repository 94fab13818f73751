"""NHANES: a health survey, most of whose holes are questions not put or not due."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from macfm.bench.datasets._dataset import Dataset
from macfm.bench.datasets._fingerprint import known

ADULT = 20
N_ROWS = 2_500
SEED = 1234

# What is counted, measured or an age. HHIncomeMid are the midpoints of twelve brackets;
# rooms, hours of sleep, days, drinks, pregnancies and partners are counts.
NUMERIC = (
    *("Age", "HHIncomeMid", "Poverty", "HomeRooms"),
    *("Weight", "Height", "BMI", "Pulse"),
    *("BPSys1", "BPDia1", "BPSys2", "BPDia2", "BPSys3", "BPDia3"),
    *("Testosterone", "DirectChol", "TotChol", "UrineVol1", "UrineFlow1"),
    *("DiabetesAge", "DaysPhysHlthBad", "DaysMentHlthBad"),
    *("nPregnancies", "nBabies", "Age1stBaby", "SleepHrsNight", "PhysActiveDays"),
    *("AlcoholDay", "AlcoholYear", "SmokeAge", "AgeFirstMarij"),
    *("SexAge", "SexNumPartnLife", "SexNumPartYear"),
)
# What the source writes in words. Hours before a screen are classes there, the last of
# them open; the year of the survey is the wave, which decides what was asked.
CATEGORICAL = (
    *("SurveyYr", "Sex", "SexOrientation", "Race1", "Race3", "Education"),
    *("MaritalStatus", "HomeOwn", "Work", "Diabetes", "HealthGen", "LittleInterest"),
    *("Depressed", "SleepTrouble", "PhysActive", "TVHrsDay", "CompHrsDay"),
    *("Alcohol12PlusYr", "SmokeNow", "Smoke100", "Marijuana", "RegularMarij"),
    *("HardDrugs", "SexEver", "SameSex", "PregnantNow"),
)


def adults(table: pd.DataFrame, quirks: Collection[str]) -> pd.DataFrame:
    """Return 2,500 persons of 20 years or more, by a fixed seed, in their order."""
    old = np.flatnonzero(table["Age"] >= ADULT)
    chosen = np.random.default_rng(SEED).permutation(old)[:N_ROWS]
    return table.iloc[np.sort(chosen)]


DATASET = Dataset(
    name="nhanes",
    title="NHANES, adults",
    numeric=NUMERIC,
    categorical=CATEGORICAL,
    n_rows=N_ROWS,
    source="US National Center for Health Statistics, NHANES 2009-10 and 2011-12; "
    "object NHANESraw of the R package NHANES, ProjectMOSAIC/NHANES on GitHub",
    licence="survey data of the US government, public; the package GPL (>= 2)",
    note="2,500 of 11,778 adults by a fixed seed. Left out: identifier and survey "
    "design; columns that only repeat another (Gender, AgeMonths, HHIncome, BMI_WHO, "
    "the mean blood pressures); those of children; second urine samples and the age of "
    "regular marijuana use, which fewer than one in six has. Most holes are skip "
    "patterns or questions of one wave",
    repair=adults,
    obtain="It comes with the R package NHANES of ProjectMOSAIC on GitHub. In R: "
    'write.csv(NHANES::NHANESraw, "nhanes_raw.csv", row.names = FALSE).',
    file="natural/nhanes_raw",
    sha256="705fc9ed2dda68942997927f81d312b62efc0a6c3959dbbb37610f0ecffce199",
    fingerprint=known("nhanes"),
)
