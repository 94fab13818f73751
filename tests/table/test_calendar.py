"""Dates that keep to days of a month or of a week are filled with such days."""

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer
from macfm.table import TableEncoder, TableSchema, as_table
from macfm.table._calendar import Calendar

DAYS = pd.date_range("2015-01-01", "2024-12-31")
RULES = {
    "firsts of a month": DAYS.day == 1,
    "lasts of a month": DAYS.is_month_end,
    "the fifteenths": DAYS.day == 15,
    "quarters": DAYS.is_quarter_start,
    "ends of quarters": DAYS.is_quarter_end,
    "half years": (DAYS.day == 1) & (DAYS.month % 6 == 1),
    "years": DAYS.is_year_start,
    "school years": (DAYS.day == 1) & (DAYS.month == 9),
    "Mondays": DAYS.day_of_week == 0,
    "Tuesdays and Fridays": np.isin(DAYS.day_of_week, [1, 4]),
    "working days": DAYS.day_of_week < 5,
    "no Sundays": DAYS.day_of_week < 6,
}


def number(days):
    return days.to_numpy().astype("M8[D]").astype(np.int64)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_found_from_some_days_and_gives_the_nearest_of_all(rule):
    allowed = number(DAYS[RULES[rule]])
    rng = np.random.default_rng(0)
    seen = rng.choice(allowed, min(len(allowed), 130), replace=False)
    calendar = Calendar.fit(rng.choice(seen, 400))
    assert calendar is not None
    inside = number(DAYS)[400:-400]
    found = calendar.nearest(inside)
    assert np.isin(found, allowed).all()
    apart = np.abs(inside[:, None] - allowed).min(axis=1)
    np.testing.assert_array_equal(np.abs(found - inside), apart)
    np.testing.assert_array_equal(calendar.nearest(allowed), allowed)
    assert Calendar.from_array(calendar.to_array()) == calendar


@pytest.mark.parametrize("rule", RULES)
def test_draws_are_spread_over_the_days_of_a_week_and_of_months_are_the_nearest(rule):
    allowed = number(DAYS[RULES[rule]])
    calendar = Calendar.fit(allowed)
    moments = np.arange(1000, 1000 + 7 * 140, 1 / 16) + 1 / 32 + allowed[0]
    found = calendar.evenly(moments)
    rounded = np.rint(moments).astype(int)
    if calendar.step:
        np.testing.assert_array_equal(found, calendar.nearest(rounded))
        return
    assert np.isin(found, allowed).all()
    kept = np.isin(rounded, allowed)
    np.testing.assert_array_equal(found[kept], rounded[kept])
    assert np.abs(found - moments).max() < 7
    shares = np.bincount(found % 7, minlength=7) / len(found)
    shares = shares[shares > 0]
    np.testing.assert_allclose(shares, 1 / len(shares), atol=0.02)


def test_chance_is_no_rule():
    """Of tables of random days hardly any is taken for one with a rule."""
    rng = np.random.default_rng(0)
    days = number(DAYS)
    n_rules = sum(
        Calendar.fit(rng.choice(days, n)) is not None
        for n in (0, 1, 2, 3, 5, 10, 30, 100)
        for _ in range(100)
    )
    assert n_rules == 0


@pytest.mark.parametrize(
    ("rule", "least"),
    [
        ("firsts of a month", 6),
        ("quarters", 8),
        ("half years", 5),
        ("years", 4),
        ("Mondays", 9),
        ("working days", 51),
    ],
)
def test_a_rule_counts_from_so_many_days_on(rule, least):
    allowed = number(DAYS[RULES[rule]])
    found = Calendar.fit(allowed[:least])
    assert found is not None
    assert np.isin(found.nearest(number(DAYS)[400:-400]), allowed).all()
    fewer = Calendar.fit(allowed[: least - 1])
    assert fewer is None or fewer.step != found.step


def test_few_days_are_no_rule_however_often_they_come_back():
    assert Calendar.fit(np.repeat(number(DAYS[DAYS.day == 1][:3]), 500)) is None


@pytest.mark.parametrize("told", [(2, 0, 0), (3, 3, 0), (1, 0, 28), (0, 0, 127)])
def test_what_no_fit_finds_is_refused(told):
    with pytest.raises(ValueError, match="calendar"):
        Calendar.from_array(np.array(told))


def monthly(tz=None, n=120):
    rng = np.random.default_rng(0)
    month = rng.integers(0, 60, n)
    firsts = pd.date_range("2018-01-01", periods=60, freq="MS", tz=tz)
    frame = pd.DataFrame(
        {"billed": firsts[month], "amount": month + rng.normal(size=n)}
    )
    frame.loc[::5, "billed"] = pd.NaT
    return frame


@pytest.mark.parametrize("tz", [None, "Europe/Berlin", "America/Sao_Paulo"])
def test_means_draws_and_saved_models_keep_to_it_in_any_zone(tz, tmp_path):
    frame = monthly(tz)
    imputer = MACFMImputer(random_state=0, verbose=False, max_steps=20).fit(frame)
    imputer.save(tmp_path / "model.macfm")
    loaded = MACFMImputer.load(tmp_path / "model.macfm")
    tables = [imputer.transform(frame), *imputer.sample(frame, n_draws=3)]
    for table in tables:
        billed = table["billed"]
        assert (billed.dt.day == 1).all()
        assert (billed == billed.dt.normalize()).all()
    pd.testing.assert_frame_equal(loaded.transform(frame), tables[0])


@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
@pytest.mark.parametrize(
    "bounds",
    [
        ("2018-01-01", "2022-12-01"),
        ("2017-12-24", "2022-12-24"),
        (None, "2022-12-01"),
        ("2017-12-13", None),
    ],
)
def test_within_bounds_there_are_its_days_alone(tz, bounds):
    table = as_table(monthly(tz))
    lo, hi = (end and pd.Timestamp(end, tz=tz) for end in bounds)
    schema = TableSchema.infer(table, bounds={"billed": (lo, hi)})
    encoder = TableEncoder.fit(table, schema)
    x = encoder.encode(table).x
    for move in np.linspace(-9, 9, 19, dtype=np.float32):
        filled = encoder.complete(table, x + move)["billed"][::5]
        assert (filled.dt.day == 1).all()
        assert lo is None or (filled >= lo).all()
        assert hi is None or (filled <= hi).all()


@pytest.mark.parametrize(
    "bounds",
    [
        ("2019-02-05", "2019-02-20"),
        ("2030-02-05 08:00", "2030-02-05 12:00"),
        ("2019-02-01 08:00", "2019-02-01 12:00"),
    ],
)
def test_bounds_between_which_it_has_no_day_hold(bounds):
    frame = monthly()
    with pytest.warns(UserWarning, match="outside"):
        schema = TableSchema.infer(as_table(frame), bounds={"billed": bounds})
    table = as_table(frame)
    encoder = TableEncoder.fit(table, schema)
    x = encoder.encode(table).x
    for drawn in (False, True):
        filled = encoder.complete(table, x, drawn=drawn)["billed"][::5]
        assert filled.between(*map(pd.Timestamp, bounds)).all()


def test_a_bound_at_the_first_of_two_midnights_holds():
    """In Amman the clock showed midnight twice on 28 October 2016."""
    fridays = pd.date_range("2016-04-08", "2016-10-28", freq="W-FRI")
    summer = np.ones(len(fridays), dtype=bool)
    frame = pd.DataFrame({"day": fridays.tz_localize("Asia/Amman", ambiguous=summer)})
    first = frame["day"].iloc[-1]
    assert str(first) == "2016-10-28 00:00:00+03:00"
    frame.loc[::9, "day"] = pd.NaT
    table = as_table(frame)
    encoder = TableEncoder.fit(
        table, TableSchema.infer(table, bounds={"day": (None, first)})
    )
    late = encoder.encode(table).x + np.float32(9)
    assert (encoder.complete(table, late)["day"] <= first).all()


def test_times_of_a_day_and_durations_have_no_calendar():
    frame = monthly()
    frame["at noon"] = frame["billed"] + pd.Timedelta(12, "h")
    frame["since"] = frame["billed"] - pd.Timestamp("2018-01-01")
    table = as_table(frame)
    encoder = TableEncoder.fit(table, TableSchema.infer(table))
    told = [name for name in encoder.to_arrays() if name.endswith("calendar")]
    assert told == ["0.calendar"]
