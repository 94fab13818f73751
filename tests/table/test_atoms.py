"""Values that a column of numbers often repeats."""

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableEncoder, TableSchema, as_table

# One of the columns holds an outlier, and the schema points it out.
pytestmark = pytest.mark.filterwarnings("ignore:.*a thousand times as far:UserWarning")
N = 400


def fit(frame, **wishes):
    table = as_table(frame)
    schema = TableSchema.infer(table, **{"scores": False} | wishes)
    return TableEncoder.fit(table, schema)


def encode(encoder, frame):
    return encoder.encode(as_table(frame)).x


def often(atoms, *, share=0.3, n=N, seed=0):
    """Numbers without ties of which so many are each of the atoms."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(2, 1, n)
    for k, atom in enumerate(atoms):
        values[round(k * share * n) : round((k + 1) * share * n)] = atom
    return rng.permutation(values)


def columns():
    """Columns with atoms, under these."""
    hours = np.where(often([0.0]) == 0, 40, np.arange(N) % 70)
    return {
        "money": (often([0.0]), (0.0,)),
        "float32 money": (often([0.1]).astype("f4"), (float(np.float32(0.1)),)),
        "float16 money": (often([0.1]).astype("f2"), (float(np.float16(0.1)),)),
        "below zero": (-often([0.0, 0.5]), (-0.5, 0.0)),
        "in the middle": (often([7.3]), (7.3,)),
        "two": (often([0.0, 99.9]), (0.0, 99.9)),
        "hours": (hours, (40,)),
        "whole floats": (hours.astype(float), (40,)),
        "Int64": (pd.array(hours, "Int64"), (40,)),
        "uint8": (hours.astype("u1"), (40,)),
        "Float32": (pd.array(hours, "Float32"), (40,)),
        "beyond 2**53": (2**60 + hours, (2**60 + 40,)),
        "objects": (np.array([2**70 + int(h) for h in hours], object), (2**70 + 40,)),
        "beside an outlier": (np.r_[often([0.0, 1.0]), 1e30], (0.0, 1.0)),
    }


@pytest.mark.parametrize("case", columns())
def test_atoms_are_found(case):
    values, atoms = columns()[case]
    (column,) = fit(pd.DataFrame({"a": values})).schema.columns
    assert set(column.atoms) == set(atoms)
    assert (column.encoding, column.width) == ("scalar", 1 + len(atoms))


@pytest.mark.parametrize(
    ("values", "atoms"),
    [
        (often([1.0], share=0.09), None),
        (often([1.0], share=0.5, n=39), None),  # 20 cells of it, 19 beside
        (often([1.0], share=0.5, n=40), (1.0,)),
        (often([0.0, 1.0, 2.0], share=0.25), 3),
        (often([0.0, 1.0, 2.0, 3.0], share=0.2), None),  # no three stand out
        (np.repeat([0.0, 1.5, 2.5, 3.5, 4.5], 80), None),
        (np.r_[np.zeros(200), np.full(40, 0.2)], None),  # one beside: a flag
        (np.r_[np.zeros(200), np.repeat([0.2, 0.4], 20)], (0.0,)),
        (np.r_[np.zeros(200), np.arange(1, 10).repeat(20)], (0,)),
        (pd.to_datetime(often([0.0]), unit="s"), None),
        (pd.to_timedelta(often([0.0]), unit="s"), None),
        (np.where(often([0.0]) == 0, "no", "yes"), None),
    ],
)
def test_what_is_an_atom(values, atoms):
    (column,) = fit(pd.DataFrame({"a": values})).schema.columns
    found = len(column.atoms) if isinstance(atoms, int) else column.atoms
    assert found == atoms


def test_the_most_frequent_come_first():
    values = np.r_[often([5.5], share=0.2), np.full(200, 2.5), np.full(100, 3.5)]
    (column,) = fit(pd.DataFrame({"a": values})).schema.columns
    assert column.atoms == (2.5, 3.5, 5.5)


@pytest.mark.filterwarnings("ignore:column 'a'.*outside bounds:UserWarning")
def test_an_atom_that_may_not_be_filled_in_is_none():
    frame = pd.DataFrame({"a": often([0.0, 7.0])})
    (column,) = fit(frame, bounds={"a": (1.0, None)}).schema.columns
    assert column.atoms == (7.0,)
    far = pd.DataFrame({"a": np.where(often([0.0]) == 0, 0, 2**60 + np.arange(N))})
    assert fit(far).schema.columns[0].atoms is None


def test_without_atoms_columns_are_encoded_as_ever():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.normal(size=N), "t": rng.choice(list("abc"), N)})
    one, two = fit(frame), fit(frame, atoms=False)
    assert one.schema == two.schema
    np.testing.assert_array_equal(encode(one, frame), encode(two, frame))
    often_zero = pd.DataFrame({"a": often([0.0])})
    off = fit(often_zero, atoms=False)
    assert (off.d, off.schema.columns[0].atoms) == (1, None)
    assert off.schema == fit(often_zero).schema.without_atoms()
    assert "atoms" not in off.schema.to_json()["columns"][0]


@pytest.mark.parametrize("transform", ["standard", "quantile"])
@pytest.mark.parametrize("case", columns())
def test_the_number_is_left_alone(case, transform):
    frame = pd.DataFrame({"a": columns()[case][0]})
    x = encode(fit(frame, numeric_transform=transform), frame)
    plain = encode(fit(frame, numeric_transform=transform, atoms=False), frame)
    np.testing.assert_array_equal(x[:, :1], plain)


@pytest.mark.parametrize("n_atoms", [1, 2, 3])
def test_atoms_are_scaled_as_categories_are(n_atoms):
    frame = pd.DataFrame({"a": often([1.0, 2.0, 3.0][:n_atoms], share=0.25)})
    x = encode(fit(frame), frame)[:, 1:].astype(float)
    np.testing.assert_allclose(x.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(x.var(0).sum(), 1, rtol=1e-6)


def test_layout_of_atoms():
    frame = pd.DataFrame(
        {
            "c": np.where(often([0.0]) == 0, "no", "yes"),
            "two": often([0.0, 9.0], share=0.2),
            "n": often([]),
            "one": often([7.0]),
        }
    )
    frame.loc[:9, "one"] = None
    encoder = fit(frame)
    assert encoder.group.tolist() == [0, 1, 1, 1, 2, 3, 3]
    assert np.flatnonzero(encoder.is_num).tolist() == [1, 4, 5]
    atoms, encoded = encoder.atoms, encoder.encode(as_table(frame))
    assert atoms.flag.tolist() == [2, 3, 6]
    assert atoms.number.tolist() == [1, 1, 5]
    named = [("two", a) for a in encoder.schema.columns[1].atoms] + [("one", 7.0)]
    for k, (name, atom) in enumerate(named):
        known = frame[name].notna()
        holds = (frame[name] == atom)[known]
        flag = encoded.x[known, atoms.flag[k]]
        assert (flag == np.where(holds, atoms.high[k], atoms.low[k])).all()
        number = encoded.x[known, atoms.number[k]]
        assert ((number == atoms.value[k]) == holds).all()
    assert (encoded.observed[:, 5] == encoded.observed[:, 6]).all()
    assert not encoded.observed[:10, 5].any()
    with pytest.raises(ValueError, match="not a modelled column of categories"):
        encoder.category_probabilities(encoded.x, "one")


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("bounds", ["auto", "observed", None])
@pytest.mark.parametrize("transform", ["standard", "quantile"])
@pytest.mark.parametrize("case", columns())
def test_an_atom_comes_back_bit_for_bit(case, transform, bounds, drawn):
    values, atoms = columns()[case]
    frame = pd.DataFrame({"a": values})
    encoder = fit(frame, numeric_transform=transform, bounds=bounds)
    x = encode(encoder, frame)
    empty = frame.iloc[:0].reindex(range(len(frame)))
    filled = encoder.complete(as_table(empty), x, drawn=drawn)["a"]
    for atom in atoms:
        holds = (frame["a"] == atom).to_numpy()
        assert holds.any()
        assert (filled[holds] == atom).all()


def test_a_later_column_that_cannot_hold_the_atom_is_clipped():
    values = np.where(often([0.0]) == 0, 300, np.arange(N) % 70)
    encoder = fit(pd.DataFrame({"a": values}))
    x = encode(encoder, pd.DataFrame({"a": [300, 300]}))
    later = pd.DataFrame({"a": pd.array([None, 1], "Int8")})
    assert encoder.complete(as_table(later), x)["a"].tolist() == [127, 1]


def test_a_model_tells_its_atoms():
    (told,) = fit(pd.DataFrame({"a": often([0.0])})).summary()
    assert (told["atoms"], told["shares"]) == ([0.0], [0.3])
    assert "values that it often repeats, and how often" in told["reveals"]


@pytest.mark.parametrize(
    "stored",
    [
        {"atoms": []},
        {"atoms": [["float", "0.0"]] * 2, "width": 3},
        {"atoms": [["float", "0.0"]], "width": 3},
        {"atoms": [["int", 0]]},
        {"atoms": None},
        {"kind": "datetime", "family": "datetime", "unit": "s"},
    ],
)
def test_atoms_that_no_fit_gives_are_refused(stored):
    encoder = fit(pd.DataFrame({"a": often([0.0])}, dtype=float))
    plain = encoder.schema.to_json()
    assert TableSchema.from_json(plain) == encoder.schema
    plain["columns"][0] |= stored
    with pytest.raises(ValueError, match="stored wrongly"):
        TableSchema.from_json(plain)


@pytest.mark.parametrize("shares", [None, [0.3, 0.1], [0.0], [1.0], [np.nan], [[0.3]]])
def test_shares_that_no_fit_gives_are_refused(shares):
    encoder = fit(pd.DataFrame({"a": often([0.0])}))
    arrays = encoder.to_arrays()
    assert arrays.pop("0.shares").tolist() == [0.3]
    if shares is not None:
        arrays["0.shares"] = np.array(shares)
    with pytest.raises(ValueError, match="statistics of column 'a' are stored wrongly"):
        TableEncoder.from_arrays(encoder.schema, arrays)
