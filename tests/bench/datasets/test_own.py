"""A table of one's own: kinds are inferred, and what is left out is said."""

import numpy as np
import pandas as pd
import pytest

from macfm.bench.datasets import DatasetError, load_table

N = 120


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "height": rng.normal(170, 8, size=N),
            "children": rng.integers(0, 4, size=N),
            "city": rng.choice(["Ulm", "Graz", "Basel"], size=N),
            "smoker": rng.random(N) < 0.5,
        }
    )


def write(table, path):
    if path.name.endswith("parquet"):
        pytest.importorskip("pyarrow")
        table.to_parquet(path)
    else:
        separators = {"a.tsv": "\t", "semicolon.csv": ";"}
        table.to_csv(path, index=False, sep=separators.get(path.name, ","))
    return path


@pytest.mark.parametrize(
    "name", ["a.csv", "a.csv.gz", "a.tsv", "semicolon.csv", "a.parquet", "A.CSV"]
)
def test_every_format_gives_the_same_table(table, tmp_path, name):
    table.loc[3, ["height", "city"]] = None
    loaded = load_table(write(table, tmp_path / name))
    assert loaded.name == name.split(".")[0]
    assert loaded.notes == ()
    frame = loaded.frame
    assert list(frame.columns) == list(table.columns)
    assert frame[["height", "children"]].dtypes.tolist() == [np.float64, np.float64]
    np.testing.assert_allclose(frame["height"], table["height"])
    assert set(frame["smoker"]) == {"True", "False"}
    assert set(frame["city"].dropna()) == {"Ulm", "Graz", "Basel"}
    assert frame.isna().sum().to_dict() == {
        **{"height": 1, "children": 0, "city": 1, "smoker": 0}
    }


@pytest.mark.parametrize(
    ("column", "note"),
    [
        (None, "left out, every cell is missing"),
        (5, "left out, every cell is '5'"),
        ([f"row {i}" for i in range(N)], "left out, 120 texts in 120 cells name the"),
        (range(1, N + 1), "left out, it counts the rows"),
        (pd.date_range("2020-01-01", periods=N), "left out, it holds 120 dates"),
        (["1.5", *map(str, range(2, N)), "n.m."], "left out, 120 texts in 120 cells"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_useless_column_is_left_out_with_a_note(
    table, tmp_path, column, note, suffix
):
    table["odd"] = column
    loaded = load_table(write(table, tmp_path / f"a.{suffix}"))
    assert "odd" not in loaded.frame
    assert len(loaded.notes) == 1
    assert loaded.notes[0].startswith(f"odd: {note}")


def test_few_dates_are_categories(table, tmp_path):
    table["visit"] = pd.to_datetime(["2020-01-01", "2021-01-01"] * (N // 2))
    frame = load_table(write(table, tmp_path / "a.csv")).frame
    assert frame["visit"].nunique() == 2


def test_numbers_with_a_stray_text_are_noted(table, tmp_path):
    table["dose"] = ["n.m.", *(str(i % 9) for i in range(N - 1))]
    loaded = load_table(write(table, tmp_path / "a.csv"))
    assert loaded.notes == ("dose: read as text, as 'n.m.' is not a number",)


def test_target_is_left_out_and_codes_become_categories(table, tmp_path):
    path = write(table, tmp_path / "a.csv")
    loaded = load_table(path, target="smoker", categorical=["children"])
    assert loaded.target == "smoker"
    assert list(loaded.frame) == ["height", "children", "city"]
    assert set(loaded.frame["children"]) == {"0", "1", "2", "3"}
    assert loaded.n_columns_counted == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.iloc[:19], "at least 20 rows and 2 usable columns, got 19 rows"),
        (lambda t: t[["city"]], "got 120 rows and 1 columns"),
        (
            lambda t: t.assign(children=1)[["city", "children"]],
            r"1 columns \(children: left out, every cell is '1'\)",
        ),
        (
            lambda t: t.assign(height=np.inf, x=range(N)).assign(
                height=lambda u: u["height"].mask(u.index == 1, 0)
            ),
            r"a\.csv: column 'height' holds infinite values",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_an_error(table, tmp_path, change, message):
    path = write(change(table), tmp_path / "a.csv")
    with pytest.raises(DatasetError, match=message):
        load_table(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DatasetError, match=r"there is no file .*gone\.csv"):
        load_table(tmp_path / "gone.csv")
    (tmp_path / "a.xlsx").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"a\.xlsx must end in one of \.parquet"):
        load_table(tmp_path / "a.xlsx")
    for name, content in [("a.csv", b""), ("b.csv", b'x,y\n1,2\n1,2,3,"4\n')]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DatasetError, match=rf"{name} cannot be read: "):
            load_table(tmp_path / name)
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"nonsense")
    with pytest.raises(DatasetError, match=r"a\.parquet cannot be read: "):
        load_table(tmp_path / "a.parquet")


def test_nested_cells_name_the_column(table, tmp_path):
    pytest.importorskip("pyarrow")
    table["tags"] = [["a"], ["b"]] * (N // 2)
    with pytest.raises(DatasetError, match=r"a\.parquet: column 'tags' holds lists"):
        load_table(write(table, tmp_path / "a.parquet"))


def test_an_unknown_column_is_an_error_that_lists_them(table, tmp_path):
    path = write(table, tmp_path / "a.csv")
    with pytest.raises(DatasetError, match="no column 'age'; its columns are: height"):
        load_table(path, target="age")


def test_decimal_commas_are_numbers_and_marks_are_missing(table, tmp_path):
    path = tmp_path / "a.csv"
    table[["height", "children"]].to_csv(path, index=False, sep=";", decimal=",")
    path.write_text(path.read_text() + "?;3\n")
    loaded = load_table(path)
    assert loaded.notes == ()
    assert loaded.frame.dtypes.tolist() == [np.float64, np.float64]
    np.testing.assert_allclose(loaded.frame["height"][:N], table["height"])
    assert loaded.frame["height"].isna().tolist() == [False] * N + [True]
