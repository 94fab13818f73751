"""Holes that stay empty and cells that follow from others, without any training."""

import warnings

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableEncoder, TableSchema, as_table, read_wishes


def settled(frame, x_seed=0, *, warn=False, schema_options=None, **wishes):
    """Fill holes with random values, settle them, and return both tables."""
    table = as_table(frame)
    schema = TableSchema.infer(table, **(schema_options or {}))
    encoder = TableEncoder.fit(table, schema)
    x = np.random.default_rng(x_seed).normal(size=(table.n_rows, encoder.d))
    cells = encoder.decode(table, x)
    chosen = read_wishes(
        schema, **({"leave": None, "derive": None} | wishes), table=table
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error" if not warn else "default")
        chosen.check(table)
    return table.write(cells), table.write(chosen.settle(table, cells))


def patients(n=200, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    diabetes = rng.choice(["No", "Yes"], n)
    age = rng.integers(20, 80, n)
    frame = pd.DataFrame(
        {
            "diabetes": diabetes,
            "age": pd.array(age, "Int64"),
            "age_dx": pd.array(age - rng.integers(0, 10, n), "Int64"),
            "drug": rng.choice(["a", "b"], n),
        }
    )
    for name in ("age_dx", "drug"):
        frame.loc[diabetes == "No", name] = None
    for name in frame:
        frame[name] = frame[name].mask(rng.uniform(size=n) < share)
    return frame


RULES = {"age_dx": "diabetes == 'No'", "drug": "isna(age_dx)"}


@pytest.mark.parametrize("seed", range(5))
def test_a_hole_stays_where_the_completed_row_says_so(seed):
    frame = patients(seed=seed)
    plain, left = settled(frame, seed, leave={"age_dx": RULES["age_dx"]})
    hole = frame["age_dx"].isna()
    none = plain["diabetes"] == "No"  # observed or filled
    assert left["age_dx"].isna().equals(hole & none)
    assert (frame["diabetes"].isna() & none & hole).any()
    assert left["age_dx"].dtype == "Int64"
    kept = hole & ~none
    assert left["age_dx"][kept].equals(plain["age_dx"][kept])
    others = [name for name in frame if name != "age_dx"]
    pd.testing.assert_frame_equal(left[others], plain[others])


def test_rules_chain_in_whatever_order_they_are_given():
    frame = patients()
    for names in (("age_dx", "drug"), ("drug", "age_dx")):
        _, left = settled(frame, leave={name: RULES[name] for name in names})
        empty = left["age_dx"].isna()
        assert empty.any()
        assert left["drug"].isna().equals(frame["drug"].isna() & empty)


def test_a_comparison_with_a_cell_left_empty_does_not_hold():
    frame = patients()
    frame.loc[frame["age_dx"].notna(), "drug"] = None
    rules = {"age_dx": RULES["age_dx"], "drug": "age_dx > 0"}
    _, left = settled(frame, leave=rules)
    hole = frame["drug"].isna()
    assert left["drug"].isna().equals(hole & left["age_dx"].notna())


def test_observed_cells_are_kept_and_counted():
    frame = patients(share=0.0)
    frame.loc[frame.index[frame["diabetes"] == "No"][:3], "age_dx"] = 40
    with pytest.warns(
        UserWarning, match="'age_dx': 3 observed cells lie in rows where"
    ):
        _, left = settled(frame, warn=True, leave={"age_dx": RULES["age_dx"]})
    assert (left["age_dx"] == 40).sum() >= 3


def test_a_mask_leaves_its_cells_and_no_others():
    frame = patients()
    mask = pd.DataFrame(
        np.random.default_rng(1).uniform(size=frame.shape) < 0.5, columns=frame.columns
    )
    for leave in (mask, mask[mask.columns[::-1]], mask.to_numpy()):
        plain, left = settled(frame, leave=leave)
        expected = plain.astype(object).where(~(mask & frame.isna()), None)
        assert left.isna().equals(expected.isna())
        assert (left.dtypes == frame.dtypes).all()


@pytest.mark.parametrize(
    ("mask", "match"),
    [
        (np.ones((3, 4), bool), r"shape \(3, 4\), but the table has shape \(200, 4\)"),
        (np.ones((200, 4)), "must hold True and False, got float64"),
        (pd.DataFrame({"age": [True] * 200}), "must have the columns of the table"),
        ([True, False], r"shape \(2,\)"),
    ],
)
def test_a_mask_of_another_shape_is_refused(mask, match):
    with pytest.raises(ValueError, match=match):
        settled(patients(), leave=mask)


def test_a_mask_with_another_index_is_refused():
    frame = patients()
    with pytest.raises(ValueError, match="another index"):
        settled(frame, leave=frame.isna().sample(frac=1, random_state=0))


@pytest.mark.parametrize(
    ("wishes", "match"),
    [
        (
            {"leave": {"age_xd": "age > 1"}},
            r"leave names columns .*did you mean \['age_dx'",
        ),
        ({"leave": {"age": "diabtes == 'No'"}}, "of column 'age': at character 1"),
        ({"leave": {"age": "age > 3"}}, "other columns, not its own"),
        ({"leave": {"age": "age_dx"}}, "rule is true or false"),
        ({"leave": {"age": "drug == 3"}}, "text cannot be compared"),
        (
            {
                "leave": {
                    "age": "age_dx > 1",
                    "age_dx": "drug == 'a'",
                    "drug": "age > 1",
                }
            },
            "depend on each other",
        ),
        ({"derive": {"age": "age_xd + 1"}}, "derive of column 'age': at character 1"),
        ({"derive": {"age": "drug + 1"}}, "'drug' is categorical; a formula takes"),
        ({"derive": {"drug": "age + 1"}}, "'drug' is categorical"),
        ({"derive": {"age": "age + 1"}}, "other columns, not its own"),
        ({"derive": {"age": "3"}}, "holds no column"),
        ({"derive": {"age": "age_dx > 1"}}, "not a number"),
        ({"derive": {"age": "age_dx + 1", "age_dx": "age - 1"}}, "from each other"),
    ],
)
def test_what_makes_no_sense_names_the_column(wishes, match):
    with pytest.raises(ValueError, match=match):
        settled(patients(), **wishes)


@pytest.mark.parametrize(
    ("wishes", "match"),
    [
        ({"leave": "age > 3"}, "leave must be a dict"),
        ({"derive": ["a"]}, "derive must"),
    ],
)
def test_other_types_are_refused(wishes, match):
    with pytest.raises(TypeError, match=match):
        settled(patients(), **wishes)


def test_a_category_that_never_occurs_is_pointed_out():
    with pytest.warns(UserWarning, match="'diabetes' is never 'no'; did you mean 'No'"):
        settled(patients(), warn=True, leave={"age_dx": "diabetes == 'no'"})


# Formulas


def bodies(n=300, seed=0, share=0.35):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"weight": rng.normal(75, 12, n), "height": rng.normal(1.7, 0.1, n)}
    )
    frame["bmi"] = frame["weight"] / frame["height"] ** 2
    frame["age"] = rng.integers(20, 80, n).astype(float)
    return frame.mask(rng.uniform(size=frame.shape) < share)


BMI = {"bmi": "weight / height**2"}


@pytest.mark.parametrize("seed", range(5))
def test_a_formula_holds_in_every_row_that_was_filled(seed):
    frame = bodies(seed=seed)
    plain, kept = settled(frame, seed, derive=BMI)
    np.testing.assert_allclose(
        kept["bmi"], kept["weight"] / kept["height"] ** 2, rtol=1e-12
    )
    assert kept.where(frame.notna()).equals(frame)
    assert kept["age"].equals(plain["age"])
    gone = frame.isna()
    # The derived column is computed, the others come from the model.
    by_model = gone["weight"] & gone["bmi"]
    assert kept["weight"][by_model].equals(plain["weight"][by_model])
    # Without it, the last of the formula is.
    both = gone["weight"] & gone["height"] & ~gone["bmi"]
    assert both.any()
    assert kept["weight"][both].equals(plain["weight"][both])
    assert (kept["height"][both] != plain["height"][both]).all()


def test_observed_cells_that_disagree_stay_and_are_mentioned():
    frame = bodies(share=0.0)
    frame["bmi"] *= 1.2
    with pytest.warns(UserWarning, match=r"300 of 300 rows .* disagree .* 16.7 %"):
        _, kept = settled(frame, warn=True, derive=BMI)
    assert kept.equals(frame)


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_a_disagreement_is_mentioned_in_any_unit(scale):
    frame = bodies(share=0.0)
    frame["bmi"] *= 1.2 * scale
    frame["weight"] *= scale
    with pytest.warns(UserWarning, match=r"300 of 300 rows .* disagree .* 16.7 %"):
        settled(frame, warn=True, derive=BMI)


def test_a_formula_without_a_value_is_mentioned():
    frame = bodies(share=0.0)
    frame.loc[::4, "bmi"] = np.nan
    formula = {"bmi": "log(weight - 1000 * height)"}
    with pytest.warns(UserWarning, match=r"no number in 300 of 300 rows .* not hold"):
        settled(frame, warn=True, derive=formula)


def test_rounding_is_no_disagreement():
    frame = bodies(share=0.0).round({"bmi": 1, "weight": 1, "height": 2})
    frame.loc[0, "bmi"] = np.nan
    frame.loc[1, "bmi"] = 99.0  # one row is not worth a warning
    settled(frame, derive=BMI)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("names", [("total", "price"), ("price", "total")])
def test_formulas_that_build_on_each_other_hold_together(seed, names):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.uniform(1, 2, 400) for name in "abcd"})
    frame["total"] = frame["a"] + frame["b"] + frame["c"]
    frame["price"] = frame["total"] * frame["d"]
    frame = frame.mask(rng.uniform(size=frame.shape) < 0.4)
    formulas = {"total": "a + b + c", "price": "total * d"}
    _, kept = settled(frame, seed, derive={name: formulas[name] for name in names})
    assert kept.where(frame.notna()).equals(frame)
    price = kept["total"] * kept["d"]
    np.testing.assert_allclose(kept["price"], price, rtol=1e-9)
    total = kept["a"] + kept["b"] + kept["c"]
    np.testing.assert_allclose(kept["total"], total, rtol=1e-9)


def test_a_formula_that_comes_to_nothing_is_solved_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    frame["rest"] = 0.3 * frame["a"] - frame["b"]
    frame.loc[:99, "rest"] = 0.0
    frame.loc[:99, "b"] = frame["a"][:100] * 0.3
    frame.loc[:49, "a"] = np.nan
    _, kept = settled(frame, derive={"rest": "0.3 * a - b"})
    np.testing.assert_allclose(kept["a"][:50], frame["b"][:50] / 0.3, rtol=1e-12)


def test_bounds_hold_where_another_cell_can_give_way():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(0, 9, 300), "b": rng.uniform(0, 9, 300)})
    frame["total"] = frame["a"] + frame["b"]
    frame.loc[:199, ["a", "b"]] = np.nan
    limits = {"bounds": {"a": (0, None), "b": (0, None)}}
    plain, kept = settled(frame, derive={"total": "a + b"}, schema_options=limits)
    assert (plain["a"] > plain["total"]).any()
    assert (kept[["a", "b"]].min() >= 0).all()
    np.testing.assert_allclose(kept["total"], kept["a"] + kept["b"], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:column 'bmi'.*outside")
def test_the_formula_wins_over_bounds():
    frame = bodies()
    limits = {"bounds": {"bmi": (20, 21)}}
    plain, kept = settled(frame, derive=BMI, schema_options=limits)
    gone = frame.isna()
    assert kept["bmi"][gone["bmi"]].max() > 21
    both = gone["bmi"] & gone["weight"]
    assert kept["weight"][both].equals(plain["weight"][both])


def test_a_column_of_whole_numbers_is_rounded():
    frame = bodies()
    frame["bmi"] = frame["bmi"].round().convert_dtypes()
    _, kept = settled(frame, derive=BMI)
    gone = frame["bmi"].isna()
    assert kept["bmi"].dtype == "Int64"
    value = (kept["weight"] / kept["height"] ** 2).round()
    assert (kept["bmi"][gone] == value[gone]).all()


def test_an_empty_column_can_be_computed():
    frame = bodies().assign(bmi=np.nan, double=np.nan)
    _, kept = settled(frame, derive={"double": "2 * bmi", **BMI})
    np.testing.assert_allclose(kept["bmi"], kept["weight"] / kept["height"] ** 2)
    np.testing.assert_allclose(kept["double"], 2 * kept["bmi"])


def test_a_formula_without_a_value_leaves_the_models():
    frame = bodies()
    frame.loc[:9, ["weight", "bmi"]] = np.nan
    frame.loc[:9, "height"] = 0.0
    plain, kept = settled(frame, derive=BMI)
    assert kept[:10].equals(plain[:10])
    empty = frame.assign(bmi=pd.array([pd.NA] * len(frame), "Int64"))
    _, kept = settled(empty, derive=BMI)
    assert kept["bmi"].isna().sum() == 10


def test_what_cannot_be_solved_for_is_said_and_filled_by_the_model():
    frame = bodies()
    frame["bmi"] = frame["weight"] + frame["weight"] * frame["height"]
    with pytest.warns(UserWarning, match="cannot be solved for 'weight', since it occ"):
        plain, kept = settled(
            frame, warn=True, derive={"bmi": "weight + weight*height"}
        )
    assert not kept.isna().any().any()
    gone = frame.isna()
    alone = gone["weight"] & ~gone["bmi"] & ~gone["height"]
    assert kept["weight"][alone].equals(plain["weight"][alone])
    rest = ~alone
    value = kept["weight"] + kept["weight"] * kept["height"]
    np.testing.assert_allclose(kept["bmi"][rest], value[rest], rtol=1e-9)


def test_numbers_that_are_categories_inform_but_are_not_solved_for():
    frame = bodies()
    frame["twin"] = np.resize([1.0, 2.0], len(frame))
    frame["both"] = frame["weight"] * frame["twin"]
    frame.loc[::7, "twin"] = np.nan
    codes = {"categorical": ["twin"]}
    derive = {"both": "weight * twin"}
    with pytest.warns(UserWarning, match="'twin', since it holds categories"):
        _, kept = settled(frame, warn=True, derive=derive, schema_options=codes)
    assert set(kept["twin"]) == {1.0, 2.0}
    computed = frame["both"].isna()
    value = kept["weight"] * kept["twin"]
    np.testing.assert_allclose(kept["both"][computed], value[computed], rtol=1e-12)
    with pytest.raises(ValueError, match="what a formula gives is a number"):
        settled(frame, derive={"twin": "both / weight"}, schema_options=codes)


def test_columns_that_are_not_filled_break_no_formula():
    frame = bodies()
    only = {"only": ["bmi"]}
    plain, kept = settled(frame, derive=BMI, schema_options=only)
    known = frame["weight"].notna() & frame["height"].notna()
    gone = frame["bmi"].isna()
    rows = known & gone
    value = frame["weight"] / frame["height"] ** 2
    np.testing.assert_allclose(kept["bmi"][rows], value[rows], rtol=1e-12)
    assert kept["bmi"][gone & ~known].equals(plain["bmi"][gone & ~known])
    assert kept[["weight", "height"]].equals(frame[["weight", "height"]])


def test_what_follows_from_an_empty_cell_is_empty():
    frame = patients()
    frame["years"] = (frame["age"] - frame["age_dx"]).astype("Float64")
    wishes = {
        "derive": {"years": "age - age_dx"},
        "leave": {"age_dx": "diabetes == 'No'"},
    }
    _, left = settled(frame, **wishes)
    hole = frame["years"].isna()
    assert (left["years"].isna() == (hole & left["age_dx"].isna())).all()
    known = left["years"].notna()
    gap = left["years"] - (left["age"] - left["age_dx"])
    assert (gap[known].abs() < 1e-9).all()


def test_arrays_call_their_columns_by_number():
    x = bodies()[["weight", "height", "bmi"]].to_numpy()
    _, kept = settled(x, derive={"x2": "x0 / x1**2"}, leave={"x0": "x1 > 100"})
    np.testing.assert_allclose(kept[:, 2], kept[:, 0] / kept[:, 1] ** 2, rtol=1e-12)
    single = x.astype(np.float32)
    _, kept = settled(single, derive={"x2": "x0 / x1**2"})
    assert kept.dtype == np.float32
    np.testing.assert_allclose(kept[:, 2], kept[:, 0] / kept[:, 1] ** 2, rtol=1e-5)


def test_polars_keeps_its_types():
    pl = pytest.importorskip("polars")
    frame = pl.from_dict(
        {
            "diabetes": ["No", "Yes", None, "No", "Yes"],
            "age_dx": [None, 40, None, None, 51],
            "w": [70.0, None, 60.0, 80.0, 75.0],
            "h": [1.7, 1.6, None, 1.8, 1.7],
            "bmi": [None, 25.0, 22.0, None, None],
        }
    )
    rules = {"leave": {"age_dx": "diabetes == 'No'"}, "derive": {"bmi": "w / h**2"}}
    _, left = settled(frame, **rules)
    assert left.schema == frame.schema
    assert left["age_dx"][0] is None
    np.testing.assert_allclose(left["bmi"], left["w"] / left["h"] ** 2, rtol=1e-12)
    with pytest.warns(UserWarning, match="2 observed cells"):
        _, left = settled(frame, warn=True, leave={"age_dx": "h > 0 or h <= 0"})
    assert left.schema == frame.schema
    assert left["age_dx"].null_count() == 3
