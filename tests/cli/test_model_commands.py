"""`macfm fit`, `transform` and `info`: a model saved and used again."""

import json

import pytest


@pytest.fixture
def model(folder, done, quick):
    result = done(
        *("fit", "patients.csv", "--model", "m.macfm", "--id", "id", "--seed", 3),
        *("--ordinal", "stage=I<II<III", "--bounds", "age=observed", *quick),
    )
    assert "m.macfm written; macfm info tells what is inside" in result.stderr
    assert "1 network, 4 steps, seed 3" in result.stderr
    return "m.macfm"


def test_a_model_fills_as_the_fit_did(folder, done, quick, model):
    words = ("--id", "id", "--seed", 3, "--ordinal", "stage=I<II<III")
    words += ("--bounds", "age=observed")
    done("impute", "patients.csv", "-o", "a.csv", "--model", "2.macfm", *words, *quick)
    done("transform", "patients.csv", "--model", model, "-o", "b.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_columns_may_come_in_another_order_without_the_ignored(folder, done, model):
    head = "stage,age,weight,smoker,seen,sex,ward"
    text = f"{head}\n,50,,TRUE,2024-03-01,f,B\nII,,70.1,,,m,\n"
    result = done("transform", "-", "--model", model, "-o", "-", stdin=text)
    lines = result.stdout.splitlines()
    assert lines[0] == head
    assert lines[1].split(",")[1] == "50"
    assert all(all(line.split(",")) for line in lines)


def test_unknown_categories_are_kept_and_named(folder, done, model):
    text = (folder / "patients.csv").read_text().replace("015,C", "015,Z")
    (folder / "new.csv").write_text(text)
    result = done("transform", "new.csv", "--model", model, "-o", "out.csv")
    assert "015,Z,28" in (folder / "out.csv").read_text()
    assert "warning: categories that fit did not see in 'ward': ['Z']" in result.stderr


def test_text_stays_text_though_the_new_cells_look_like_numbers(folder, done, model):
    head = "ward,age,weight,sex,seen,smoker,stage"
    text = f"{head}\n01,50,60.0,,2024-03-01,TRUE,I\n02,,,f,,FALSE,\n"
    result = done("transform", "-", "--model", model, "-o", "-", stdin=text)
    assert result.stdout.splitlines()[1].startswith("01,50,60.0,")


def test_draws_and_methods_of_a_model(folder, done, model):
    words = ("transform", "patients.csv", "--model", model, "-o")
    done(*words, "draws.csv", "--draws", 2)
    assert len((folder / "draws.csv").read_text().splitlines()) == 13
    for method in ("mean", "median", "draw"):
        done(*words, f"{method}.csv", "--method", method)
    mean, draw = ((folder / f"{m}.csv").read_text() for m in ("mean", "draw"))
    assert mean != draw


def test_further_columns_are_passed_through_when_ignored(folder, done, run, model):
    lines = (folder / "patients.csv").read_text().splitlines()
    text = "\n".join(f"{line},{'note' if k == 0 else ''}" if line else ""
                     for k, line in enumerate(lines))  # fmt: skip
    (folder / "more.csv").write_text(text)
    words = ("transform", "more.csv", "--model", model, "-o", "-")
    result = run(*words)
    assert result.exit_code == 3
    assert "column 'note' is not in the model m.macfm; leave it out, or pass it" in (
        result.stderr
    )
    assert done(*words, "--ignore", "note").stdout.splitlines()[0].endswith(",note")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "age,",
            "years,",
            "new.csv: column 'age' (integer) is missing, which the model m.macfm needs",
        ),
        ("31,71.50", "old,71.50", "new.csv: column 'age' was fitted as Int64"),
    ],
)
def test_a_table_that_does_not_fit_ends_with_3(folder, run, model, old, new, message):
    text = (folder / "patients.csv").read_text().replace(old, new)
    (folder / "new.csv").write_text(text)
    result = run("transform", "new.csv", "--model", model, "-o", "out.csv")
    assert result.exit_code == 3
    assert message in result.stderr
    assert not (folder / "out.csv").exists()


def test_an_absent_column_is_named(folder, run, model):
    text = "ward,weight,sex,seen,smoker,stage\nB,60.0,f,2024-03-01,TRUE,I\n"
    result = run("transform", "-", "--model", model, "-o", "-", stdin=text)
    assert result.exit_code == 3
    assert (
        "standard input: column 'age' (integer) is missing, which the model m.macfm "
        "needs; add it, empty if nothing is known"
    ) in result.stderr


def test_all_columns_that_differ_are_named_at_once(folder, run, model):
    text = "ward,weight,years,sex,seen,a b\nB,60.0,3,f,2024-03-01,7\n"
    result = run("transform", "-", "--model", model, "-o", "-", stdin=text)
    assert result.exit_code == 3
    assert (
        "columns 'age' (integer), 'smoker' (boolean) and 'stage' (ordinal) are "
        "missing, which the model m.macfm needs; add them, empty if nothing is known; "
        "columns 'years' and 'a b' are not in the model m.macfm; leave them out, or "
        "pass them through with --ignore 'years,a b'\n"
    ) in result.stderr


def test_ignoring_a_column_the_model_uses_is_refused(folder, run, model):
    words = ("transform", "patients.csv", "--model", model, "-o", "-")
    result = run(*words, "--ignore", "age")
    assert result.exit_code == 3
    assert "--ignore age: the model m.macfm uses this column" in result.stderr


def test_info_tells_what_the_model_reveals(folder, done, model):
    out = done("info", model).stdout
    assert max(map(len, out.splitlines())) <= 80
    told = " ".join(out.split())
    assert told.startswith("m.macfm: a macfm model, format 8, ")
    assert "Saved with macfm " in told
    assert "4 steps" in told
    assert "seed 3" in told
    assert "id ignored no its name" in told
    assert "3 categories" in told
    assert "bounds from 28 to 52" in told
    assert "What somebody who has this file learns of the training data" in told
    assert "It holds no row, but its weights were learned from the rows" in told


def test_info_as_json_is_what_the_library_tells(folder, done, model):
    from macfm import describe_model

    told = json.loads(done("info", model, "--json").stdout)
    assert told == json.loads(json.dumps(describe_model(model)))


def test_marks_in_columns_that_the_model_ignores_do_not_matter(folder, done, quick):
    rows = "".join(f"{k % 9 + 20},{k},-99\n" for k in range(30))
    (folder / "m.csv").write_text("a,b,c\n-999,,7\n-999,3,\n" + rows)
    result = done("fit", "m.csv", "--model", "i.macfm", "--ignore", "a", *quick)
    assert "note: 'a'" not in result.stderr
    result = done("transform", "m.csv", "--model", "i.macfm", "-o", "out.csv")
    assert "note: 'a'" not in result.stderr
    done("fit", "m.csv", "--model", "u.macfm", *quick)
    result = done("transform", "m.csv", "--model", "u.macfm", "-o", "out2.csv")
    assert "note: 'a' holds -999 in 2 rows" in result.stderr
