"""Help in sections, suggestions and old spellings."""

import subprocess
import sys

import pytest

SECTIONS = {
    "impute": "Columns Values Training Files Output General",
    "fit": "Columns Values Training Files Output General",
    "transform": "Columns Values Training Files Output General",
    "report": "Columns Values Training Files Output General",
    "compare": "Columns Values Training Comparison Files Output General",
    "inspect": "Columns Files Output General",
    "bench run": "Columns Training Comparison Files Output General",
    "info": "Output General",
    "completion": "Options",
}


@pytest.mark.parametrize("name", SECTIONS)
def test_options_stand_in_sections(done, name):
    lines = done(*name.split(), "--help").stdout.splitlines()
    headings = [k[:-1] for k in lines if k.endswith(":") and not k.startswith(" ")]
    assert headings == SECTIONS[name].split()
    words = [line.split()[0] for line in lines if line.startswith("  -")]
    assert len(words) == len(set(words))


def test_an_option_stands_under_its_heading(done):
    out = done("impute", "--help").stdout
    places = [
        out.index(word)
        for word in ("Columns:", "--ignore C", "Values:", "--bounds C", "Training:",
                     "--preset", "Files:", "--delimiter", "Output:", "--force",
                     "General:", "--quiet")
    ]  # fmt: skip
    assert places == sorted(places)


def test_a_mistyped_command_is_answered_with_the_nearest(run):
    result = run("imput", "patients.csv")
    assert result.exit_code == 2
    assert "No such command 'imput'; did you mean impute?" in result.stderr


def test_the_old_spelling_of_a_draw_still_works(folder, done, quick):
    words = ("impute", "numbers.csv", *quick, "--method")
    old = done(*words, "sample", "-o", "old.csv")
    assert "note: --method sample is now --method draw\n" in old.stderr
    new = done(*words, "draw", "-o", "new.csv")
    assert "is now" not in new.stderr
    assert (folder / "old.csv").read_bytes() == (folder / "new.csv").read_bytes()
    assert "is now" not in done(*words, "sample", "-q", "-o", "q.csv").stderr
    assert "sample" not in done("impute", "--help").stdout


@pytest.mark.parametrize("word", [("--folds", "2"), ("--folds=2",)])
def test_folds_are_now_repeats(folder, done, quick, word):
    words = ("compare", "numbers.csv", "--methods", "mean", *quick)
    result = done(*words, *word)
    assert "note: --folds is now --repeats\n" in result.stderr
    assert "--folds" not in done("compare", "--help").stdout


def test_old_spellings_hold_in_a_file_of_options(folder, done, quick):
    (folder / "c.toml").write_text("folds = 1\nmethods = 'mean'\nmethod = 'sample'\n")
    result = done("compare", "numbers.csv", "--config", "c.toml", *quick)
    assert "note: the key 'folds' of c.toml is now 'repeats'\n" in result.stderr
    done("impute", "numbers.csv", "--config", "c.toml", "-o", "o.csv", *quick)


def test_a_missing_table_is_reported_without_torch(folder):
    (folder / "m.macfm").write_text("")
    for words in (
        ["transform", "none.csv", "--model", "m.macfm", "-o", "o.csv"],
        ["report", "none.csv", "--model", "m.macfm"],
        ["impute", "none.csv", "-o", "o.csv"],
        ["compare", "none.csv", "--methods", "mean"],
    ):
        code = (
            "import sys\nfrom macfm.cli import main\n"
            f"sys.argv[1:] = {words!r}\n"
            "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 1\n"
            "assert 'torch' not in sys.modules"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == "Error: none.csv: no such file\n"
