"""Columns recorded only where another has certain values: found, and not invented."""

import shlex
import time

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from macfm.judge import mechanisms
from macfm.profile import profile
from macfm.profile._reading import read
from macfm.profile._skips import find_skips
from macfm.table import TableEncoder, TableSchema, as_table, read_wishes


def skips(frame, **how):
    return find_skips(read(frame, **how))


def survey(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "diabetes": rng.choice(["No", "Yes"], n, p=[0.9, 0.1]),
            "age": rng.integers(0, 90, n) * (rng.uniform(size=n) > 0.05),
            "region": rng.choice(["n", "s", "e", "w"], n),
            "dose": rng.normal(10, 3, n),
            "children": rng.integers(0, 5, n),
            "smoker": rng.choice([True, False], n),
            "d.time": rng.exponential(50, n),
            "value": rng.normal(size=n),
        }
    )


PLANTED = [
    ("diabetes == 'No'", "'diabetes' is 'Yes'"),
    ("age < 18", "'age' is 18 or more"),
    ("age > 59", "'age' is 59 or less"),
    ("age < 18 or age > 59", "'age' is between 18 and 59"),
    ("age == 0", "'age' is not 0"),
    ("region == 'n'", "'region' is not 'n'"),
    ("region in ['n', 's']", "'region' is 'e' or 'w'"),
    ("region != 'n'", "'region' is 'n'"),
    ("children == 0", "'children' is not 0"),
    ("children < 2", "'children' is 2 or more"),
    ("children > 2", "'children' is 2 or less"),
    ("smoker == False", "'smoker' is True"),
    ("`d.time` < 20", "'d.time' is 20 or more"),
    ("dose > 12", "'dose' is 12 or less"),
]


def where(rule, frame):
    return frame.eval(rule, engine="python").to_numpy()


@pytest.mark.parametrize(("rule", "words"), PLANTED)
@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_a_planted_rule_is_found_and_written_so_that_it_can_be_copied(
    rule, words, noise
):
    frame = survey()
    rng = np.random.default_rng(1)
    none = where(rule, frame)
    frame["value"] = frame["value"].mask(none | (rng.uniform(size=len(frame)) < noise))
    (found,) = skips(frame)
    assert found.columns == ("value",)
    assert words.split(" is ")[0] == repr(found.driver)
    assert found.n_missing == (found.n_elsewhere,)
    assert found.sentence().startswith("'value' is recorded only where")
    # The rule covers the planted rows, give or take those that decide a threshold.
    holds = where(found.rule, frame)
    assert (holds == none).mean() > (1.0 if noise == 0 else 0.99) - 1e-12
    if noise == 0 and "dose" not in rule and "time" not in rule:
        assert (found.rule, found.where) == (rule, words)


def test_what_is_found_is_what_leave_takes():
    frame = survey()
    frame["value"] = frame["value"].mask(frame["d.time"] < 20)
    (found,) = skips(frame)
    name, rule = found.columns[0], found.rule
    table = as_table(frame)
    schema = TableSchema.infer(table)
    encoder = TableEncoder.fit(table, schema)
    cells = encoder.decode(table, np.zeros((len(frame), encoder.d)))
    wishes = read_wishes(schema, leave={name: rule}, derive=None, table=table)
    assert wishes.settle(table, cells) == {}
    (word,) = shlex.split(found.option())[1:]
    assert word == f"value: {rule}"
    assert eval(f"dict({found.parameter()})") == {"leave": {name: rule}}


def test_nearly_is_enough_and_said():
    frame = survey()
    none = frame["diabetes"] == "No"
    frame["value"] = frame["value"].mask(none)
    some = frame.index[none][:20]
    frame.loc[some, "value"] = 1.0
    (found,) = skips(frame)
    assert found.rule == "diabetes == 'No'"
    assert "is recorded almost only where 'diabetes' is 'Yes'" in found.sentence()
    assert (
        f"missing in {none.sum() - 20:,} of {none.sum():,} others" in found.sentence()
    )
    frame.loc[frame.index[none][:200], "value"] = 1.0
    assert skips(frame) == ()


def test_columns_with_the_same_rule_stand_together():
    frame = survey()
    for name in ("value", "dose"):
        frame[name] = frame[name].mask(frame["age"] < 18)
    (found,) = skips(frame)
    assert found.columns == ("dose", "value")
    assert found.option() == '--leave "dose,value: age < 18"'
    assert eval(f"dict({found.parameter()})")["leave"] == {
        "dose": "age < 18",
        "value": "age < 18",
    }
    odd = frame.rename(columns={"dose": "dose, mg"})
    (found,) = skips(odd)
    words = shlex.split(found.option())
    assert words == ["--leave", "dose, mg: age < 18", "--leave", "value: age < 18"]


def test_a_chain_of_questions_is_followed():
    frame = survey()
    frame["smokes"] = np.resize(["yes", "no", "yes"], len(frame))
    frame["smokes"] = frame["smokes"].mask(frame["age"] < 18)
    frame["dose"] = frame["dose"].mask(frame["smokes"] != "yes")
    found = {skip.columns[0]: skip.rule for skip in skips(frame)}
    assert found == {
        "smokes": "age < 18",
        "dose": "smokes == 'no' or isna(smokes)",
    }


def test_the_strongest_of_several_candidates_is_named():
    frame = survey()
    frame["value"] = frame["value"].mask(frame["diabetes"] == "No")
    frame["copy"] = np.where(frame["diabetes"] == "No", 0, 1)
    weaker = frame["diabetes"].where(np.arange(len(frame)) % 3 > 0)
    frame.insert(0, "weaker", weaker)
    (found,) = [s for s in skips(frame) if "value" in s.columns]
    assert found.driver == "diabetes"


@pytest.mark.parametrize("n", [20, 40])
def test_few_rows_prove_nothing(n):
    frame = survey(n=n).assign(diabetes=np.resize(["No", "Yes"], n))
    frame["value"] = frame["value"].mask(frame["diabetes"] == "No")
    assert skips(frame) == ()


def random_table(rng):
    n = int(rng.choice([60, 200, 800]))
    z = rng.normal(size=(n, 3))
    frame = pd.DataFrame(
        {
            "a": z[:, 0],
            "b": z @ rng.normal(size=3),
            "few": rng.integers(0, 4, n),
            "level": np.digitize(z[:, 1], [-1, 0, 1]),
            "word": rng.choice(list("xyz"), n),
            "flag": z[:, 2] > 0.5,
            "count": rng.poisson(3, n),
            "c": rng.normal(size=n),
        }
    )
    return frame.astype({"flag": object})


def holes(frame, rng, kind):
    """Random holes; under MAR they hang on one column, weakly up to steeply."""
    rate = rng.uniform(0.05, 0.9)
    if kind == "mcar":
        return mechanisms.mcar(frame, rate, seed=rng)
    if kind == "mar":
        return mechanisms.mar(frame, min(rate, 0.6), seed=rng)
    flags = np.zeros(frame.shape, dtype=bool)
    driver = int(rng.integers(frame.shape[1]))
    codes = pd.factorize(frame.iloc[:, driver], sort=True)[0].astype(float)
    codes = (codes - codes.mean()) / codes.std()
    slope = rng.uniform(0.5, 3)
    chance = np.minimum(expit(slope * codes + rng.normal()), 0.95)
    for j in range(frame.shape[1]):
        if j != driver:
            flags[:, j] = rng.uniform(size=len(frame)) < chance
    return pd.DataFrame(flags, index=frame.index, columns=frame.columns)


@pytest.mark.parametrize("kind", ["mcar", "mar", "steep"])
def test_no_false_alarm_on_random_holes(kind):
    alarms = []
    for seed in range(70):
        rng = np.random.default_rng([seed, len(kind)])
        frame = random_table(rng)
        frame = frame.mask(holes(frame, rng, kind))
        alarms += [skip.sentence() for skip in skips(frame)]
    assert alarms == []


def test_wide_and_long_tables_take_a_moment():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, 80))).add_prefix("v")
    frame = frame.mask(rng.uniform(size=frame.shape) < 0.3)
    frame["v1"] = frame["v1"].mask(frame["v0"] < 0)
    reading = read(frame)
    began = time.perf_counter()
    (found,) = find_skips(reading)
    assert found.columns == ("v1",)
    assert time.perf_counter() - began < 20  # a second or two, on an idle machine


def test_the_profile_tells_it_in_pythons_words():
    frame = survey()
    frame["value"] = frame["value"].mask(frame["diabetes"] == "No")
    found = profile(frame, quick=True)
    (finding,) = [f for f in found.findings if f.code == "does_not_apply"]
    assert finding.columns == ("value",)
    assert finding.message.endswith(
        "If that means “does not apply”, keep those holes: "
        "leave={'value': \"diabetes == 'No'\"}."
    )
    assert found.to_json()["skips"][0]["rule"] == "diabetes == 'No'"
    assert skips(frame, ignore=["value"]) == ()
