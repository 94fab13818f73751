"""The names of macfm: few, listed without being imported, the table first."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import macfm
import macfm.profile
import macfm.report
from macfm.profile import TableProfile


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    return frame.mask(rng.random(frame.shape) < 0.2)


def test_dir_lists_the_public_names_and_imports_nothing():
    code = "import sys, macfm; print(*dir(macfm)); print('pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    names, loaded = done.stdout.splitlines()
    assert names.split() == sorted(macfm.__all__)
    assert loaded == "False"
    assert all(hasattr(macfm, name) for name in macfm.__all__)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'imputed'"):
        _ = macfm.imputed


@pytest.mark.parametrize("name", ["compare", "profile", "report"])
def test_the_table_comes_first(name):
    first, *_ = inspect.signature(getattr(macfm, name)).parameters.values()
    assert first.name == "df"
    assert first.kind is first.POSITIONAL_OR_KEYWORD


@pytest.mark.parametrize("name", ["profile", "report"])
def test_a_package_that_is_called_stays_a_package(name):
    package = importlib.import_module(f"macfm.{name}")
    assert package is getattr(macfm, name)
    assert inspect.ismodule(package)
    assert all(hasattr(package, other) for other in package.__all__)
    called = inspect.signature(package)
    assert called == inspect.signature(getattr(package, name))


def test_profile_is_called_and_reads_as_text(frame):
    found = macfm.profile(frame, quick=True)
    assert isinstance(found, TableProfile)
    assert repr(found) == str(found)
    first, *_ = str(found).splitlines()
    share = macfm.profile.percent(found.missing_rate)
    assert first == f"60 rows, 2 columns, {found.n_missing} missing cells ({share})"


def test_types_ship_with_the_package():
    folder = Path(macfm.__file__).parent
    assert (folder / "py.typed").is_file()
    told = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"macfm" = ["py.typed"]' in told
