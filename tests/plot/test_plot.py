import builtins
import importlib.util
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.cbook import is_math_text  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.text import Text  # noqa: E402

from macfm import plot  # noqa: E402
from macfm.plot import short_names  # noqa: E402
from macfm.plot._style import short  # noqa: E402


@pytest.fixture(autouse=True)
def _leaves_settings_alone():
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
    plt.close("all")


def tables(n: int = 120) -> tuple[pd.DataFrame, pd.DataFrame, list[pd.DataFrame]]:
    """A table with holes of each kind, its completion, and three draws."""
    rng = np.random.default_rng(0)
    full = pd.DataFrame(
        {
            "weight": rng.normal(70, 10, n),
            "visits": rng.integers(0, 5, n).astype(float),
            "ward": rng.choice(["a", "b", "c"], n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D"),
            "whole": rng.normal(size=n),
        }
    )
    gone = rng.uniform(size=full.shape) < 0.25
    gone[:, 4] = False
    draws = [full, full.iloc[::-1].set_axis(full.index)]
    draws.append(full.sample(frac=1, random_state=0).set_axis(full.index))
    draws = [full.where(~gone, draw) for draw in draws]
    return full.mask(gone), full, draws


def history(n_networks: int = 1) -> SimpleNamespace:
    lines = [
        {
            "network": k,
            "step": step,
            "loss": 1 / step,
            "val_error": abs(step - 30) + k,
            "seconds": 4 * k + step / 10,
        }
        for k in range(n_networks)
        for step in (10, 20, 30, 40)
    ]
    return SimpleNamespace(history_=pd.DataFrame(lines))


def texts(ax: Axes) -> str:
    parts = [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()]
    parts += [text.get_text() for text in ax.texts]
    parts += [label.get_text() for label in ax.get_xticklabels()]
    return "\n".join(parts)


def pictures(**how) -> dict:
    """Every function, called on ordinary data."""
    df, completed, draws = tables()
    return {
        "missing": lambda: plot.missing(df, **how),
        "patterns": lambda: plot.patterns(df, **how),
        "convergence": lambda: plot.convergence(history(), **how),
        "intervals": lambda: plot.intervals(draws, df, "weight", **how),
        "intervals, times": lambda: plot.intervals(draws, df, "day", **how),
        "intervals, categories": lambda: plot.intervals(draws, df, "ward", **how),
        "scatter": lambda: plot.scatter(df, completed, "weight", "visits", **how),
        "scatter, categories": lambda: plot.scatter(
            df, completed, "ward", "day", **how
        ),
        "distributions": lambda: plot.distributions(df, draws, ["weight"], **how)[0],
    }


@pytest.mark.parametrize("name", list(pictures()))
def test_each_returns_titled_axes_and_takes_one(name):
    made = pictures()[name]()
    assert isinstance(made, Axes)
    assert made.get_title(loc="left")
    _, ax = plt.subplots()
    assert pictures(ax=ax)[name]() is ax
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", list(pictures()))
def test_a_theme_reaches_ground_and_text(name):
    theme = replace(plot.THEMES["dark"], ink="#abcdef", ground="none")
    ax = pictures(style=theme)[name]()
    assert ax.figure.get_facecolor()[3] == 0  # transparent
    ax.figure.canvas.draw()
    labels = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]
    labels += [*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts]
    assert {to_hex(t.get_color()) for t in labels if t.get_text()} == {"#abcdef"}


def test_the_map_says_how_much_is_missing():
    df, _, _ = tables()
    ax = plot.missing(df)
    assert f"{100 * df.isna().to_numpy().mean():.0f} % of 600 cells" in texts(ax)
    share = f"{100 * df['weight'].isna().mean():.0f} %"
    assert any(
        "weight" in t.get_text() and share in t.get_text() for t in ax.get_xticklabels()
    )
    image = ax.images[0].get_array()
    np.testing.assert_array_equal(image, df.isna().to_numpy())


def test_the_map_of_a_large_table_is_binned_and_keeps_the_rates():
    rng = np.random.default_rng(0)
    x = np.where(rng.uniform(size=(5000, 70)) < np.arange(70) / 100, np.nan, 0.0)
    ax = plot.missing(x, sort=True)
    image = np.asarray(ax.images[0].get_array())
    assert image.shape == (400, 60)
    rates = np.isnan(x).mean(axis=0)[10:]
    np.testing.assert_allclose(image.mean(axis=0), rates, atol=0.01)
    assert "60 of 70 columns" in texts(ax)


def test_patterns_show_counts():
    df = pd.DataFrame({"a": [1, None, None, 4.0], "b": [1, 1, 1, None], "c": 1.0})
    ax = plot.patterns(df)
    (bars,) = ax.child_axes
    assert [t.get_text().split()[0] for t in bars.texts] == ["2", "1", "1"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a\n50 %", "b\n25 %"]


def test_distributions_show_columns_with_holes_by_the_same_bins():
    df, completed, draws = tables()
    axes = plot.distributions(df, draws)
    assert [ax.get_title(loc="left").split()[0] for ax in axes] == [
        *("weight", "visits", "ward", "day"),
    ]
    weight = plot.distributions(df, completed, "weight")[0]
    bars = [patch for patch in weight.patches if hasattr(patch, "get_width")]
    assert sum(bar.get_height() for bar in bars) == pytest.approx(100)
    outline = next(p for p in weight.patches if not hasattr(p, "get_width"))
    assert outline.get_xy()[:, 0].min() == pytest.approx(bars[0].get_x())


def test_a_long_tail_does_not_hide_the_rest():
    seen = np.append(np.random.default_rng(0).normal(size=999), 1e6)
    df = pd.DataFrame({"a": np.append(seen, [np.nan] * 5)})
    ax = plot.distributions(df, df.fillna(0.5))[0]
    assert ax.get_xlim()[1] < 100
    assert "beyond this range" in ax.get_xlabel()


def spread(values, level):
    """A picture of the interval of one filled cell, and its two ends."""
    df = pd.DataFrame({"a": [1.0, 2.0, np.nan]})
    draws = [df.fillna(value) for value in values]
    ax = plot.intervals(draws, df, "a", level=level)
    ((_, low), (_, high)) = ax.collections[0].get_segments()[0]
    return ax, low, high


def test_intervals_end_at_the_draws_between_which_the_level_lies():
    values = np.random.default_rng(0).normal(size=39)
    _, *ends = spread(values, 0.8)
    # A truth is as likely in each of the 40 gaps, of which 32 lie between these.
    assert ends == pytest.approx(np.sort(values)[[3, -4]].tolist())


@pytest.mark.parametrize(
    ("n_draws", "level", "said"),
    [
        (3, 0.9, "range of 3 draws"),
        (18, 0.9, "range of 18 draws"),
        (19, 0.9, "90 % interval"),
        (3, 0.5, "50 % interval"),
    ],
)
def test_draws_too_few_for_an_interval_are_a_range(n_draws, level, said):
    values = np.random.default_rng(0).normal(size=n_draws)
    ax, *ends = spread(values, level)
    assert ends == pytest.approx([values.min(), values.max()])
    assert said in ax.get_legend_handles_labels()[1]


def test_intervals_ask_an_imputer_for_the_rows_with_holes_only():
    df, completed, _ = tables()

    class Imputer:
        def sample(self, X, n_draws):
            assert X["weight"].isna().all()
            assert n_draws == 3
            return [completed.loc[X.index]] * n_draws

    ax = plot.intervals(Imputer(), df, "weight", n=10, n_draws=3)
    assert f"10 of {df['weight'].isna().sum()} shown" in texts(ax)


def test_several_networks_have_a_curve_each():
    ax = plot.convergence(history(3))
    labels = ax.get_legend_handles_labels()[1]
    assert sum("error on hidden cells" in label for label in labels) == 3
    assert "120 steps, 12 s" in texts(ax)


def drawn(axes: Axes | list[Axes]) -> list[np.ndarray]:
    """The numbers behind a picture, in the order in which they were drawn."""
    found = []
    for ax in np.atleast_1d(axes):
        found += [image.get_array() for image in ax.images]
        found += [line.get_xydata() for line in ax.lines]
        found += [patch.get_path().vertices for patch in ax.patches]
        found += [patch.get_window_extent().extents for patch in ax.patches]
        found += [one.get_offsets() for one in ax.collections]
        found += [path.vertices for one in ax.collections for path in one.get_paths()]
        found += drawn(ax.child_axes) if ax.child_axes else []
    return [np.asarray(one, dtype=float) for one in found]


@pytest.mark.parametrize(
    "picture",
    [
        lambda df, full, names: plot.missing(df),
        lambda df, full, names: plot.patterns(df),
        lambda df, full, names: plot.distributions(df, full),
        lambda df, full, names: plot.scatter(df, full, *names),
        lambda df, full, names: plot.intervals([full, full], df, names[1]),
    ],
    ids=["missing", "patterns", "distributions", "scatter", "intervals"],
)
def test_polars_and_arrays_give_the_picture_that_pandas_gives(picture):
    polars = pytest.importorskip("polars")
    x = np.array([[1.0, np.nan], [2.0, 1.0], [3.0, 2.0], [np.nan, 4.0]])
    filled = np.nan_to_num(x, nan=1.5)
    names = ("x0", "x1")
    before, after = (pd.DataFrame(part, columns=names) for part in (x, filled))
    expected = drawn(picture(before, after, names))
    assert sum(map(np.size, expected)) > 4
    nulls = polars.from_pandas(before).fill_nan(None)
    for df, full in ((x, filled), (nulls, polars.from_pandas(after))):
        found = drawn(picture(df, full, names))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_points_of_a_scatter_are_marked_by_what_was_filled():
    df = pd.DataFrame({"a": [1.0, 2.0, None, 4.0, None], "b": [5.0, None, 7, 8, None]})
    full = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, 0.5], "b": [5.0, 6.0, 7, 8, 9]})
    ax = plot.scatter(df, full, "a", "b")
    assert {
        group.get_label(): group.get_offsets().tolist() for group in ax.collections
    } == {
        "observed (2)": [[1, 5], [4, 8]],
        "a filled in (1)": [[3, 7]],
        "b filled in (1)": [[2, 6]],
        "both filled in (1)": [[0.5, 9]],
    }
    looks = {one.get_facecolor().tobytes() for one in ax.collections}
    assert len(looks) == 4


def test_bars_of_a_category_are_the_shares_of_the_draws():
    df = pd.DataFrame({"ward": ["a", "b", None, None]})
    drawn_wards = [("a", "b"), ("a", "b"), ("a", "b"), ("b", "b")]
    draws = [df.assign(ward=["a", "b", *pair]) for pair in drawn_wards]
    ax = plot.intervals(draws, df, "ward")
    shares = {
        bars.get_label(): [bar.get_height() for bar in bars] for bars in ax.containers
    }
    assert shares == {"b": [100, 25], "a": [0, 75]}
    (_, upper) = ax.containers
    assert [bar.get_y() for bar in upper] == [100, 25]  # they stand on each other


def test_nothing_missing_is_said_not_raised():
    _, completed, _ = tables()
    for ax in (
        plot.missing(completed),
        plot.patterns(completed),
        plot.distributions(completed, completed)[0],
        plot.intervals([completed] * 2, completed, "weight"),
    ):
        assert "othing is missing" in texts(ax)
    assert "Nothing was trained" in texts(
        plot.convergence(SimpleNamespace(history_=pd.DataFrame()))
    )
    assert "table is empty" in texts(plot.missing(pd.DataFrame({"a": []})))
    empty = pd.DataFrame({"a": [np.nan, np.nan], "b": [1.0, 2.0]})
    assert "No row has both" in texts(plot.scatter(empty, empty, "a", "b"))
    assert "no value was filled in" in texts(
        plot.distributions(completed, completed, ["whole"])[0]
    )


def test_a_cut_leaves_no_dollar_bare():
    for n in range(40):
        shown = short("x" * n + "$ and $" + "y" * (30 - n % 30))
        assert shown.count("$") == shown.count(r"\$")


def test_names_with_dollars_are_not_formulas():
    df = pd.DataFrame({"$a$ \\x": [1.0, np.nan], "$b_{$": [np.nan, 1.0]})
    for ax in (plot.missing(df), plot.scatter(df, df.fillna(0), *df.columns)):
        ax.figure.canvas.draw()
        shown = [text for text in ax.findobj(Text) if text.get_text()]
        assert not any(is_math_text(text.get_text()) for text in shown)
        plain = "\n".join(text.get_text().replace(r"\$", "$") for text in shown)
        assert all(name in plain for name in df)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda df, c: plot.scatter(df, c, "weight", "x"), "no column 'x'; the table"),
        (lambda df, c: plot.distributions(df, c, ["x"]), "no column 'x'; the table"),
        (lambda df, c: plot.intervals([c, c], df, "x"), "no column 'x'; the table"),
        (lambda df, c: plot.intervals([c], df, "weight"), "at least 2 draws, got 1"),
        (lambda df, c: plot.intervals(3, df, "weight"), "a list of completed tables"),
        (lambda df, c: plot.intervals([c, c], df, "weight", level=2), "level=2"),
        (lambda df, c: plot.distributions(df, c[:-1]), "120 rows and the completed"),
        (lambda df, c: plot.missing(df, style="neon"), "got style='neon'"),
        (lambda df, c: plot.convergence(object()), "needs a fitted imputer"),
    ],
)
def test_errors_say_what_was_needed(call, message):
    df, completed, _ = tables()
    with pytest.raises((ValueError, TypeError), match=message):
        call(df, completed)


def test_importing_needs_no_matplotlib_and_calling_names_the_extra(monkeypatch):
    code = "import sys, macfm.plot; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *a: None if name == "matplotlib" else find(name, *a),
    )
    load = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
        return load(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    df, _, draws = tables()
    for call in (
        lambda: plot.missing(df),
        lambda: plot.intervals(draws, df, "day"),
        lambda: plot.distributions(df, draws),
    ):
        with pytest.raises(ImportError, match=r"macfm\[plot\]"):
            call()


def test_long_names_stay_different():
    names = [f"a_long_name_of_something_at_visit_{k}_in_millimetres" for k in range(40)]
    shown = short_names([*names, "age", 7])
    assert len(set(shown)) == 42
    assert max(map(len, shown)) <= 18
    assert shown[-2:] == ["age", "7"]
    assert all(f"visit_{k}" in label for k, label in enumerate(shown[:40]))
    assert short_names(["x" * 40, "x" * 40]) == short_names(["x" * 40]) * 2


def test_whole_numbers_have_whole_ticks():
    before, full, _ = tables()
    few = before.assign(visits=before["visits"].clip(upper=1))
    whole = plot.distributions(few, full.assign(visits=full["visits"] / 3), ["visits"])
    axes = [(whole[0], "x"), (plot.scatter(few, full, "weight", "visits"), "y")]
    axes.append((plot.intervals([full, full], few, "visits"), "y"))
    axes.append((plot.missing(before.iloc[:4]), "y"))
    for ax, axis in axes:
        ticks = getattr(ax, f"get_{axis}ticks")()
        assert (ticks == np.round(ticks)).all()
        texts = [label.get_text() for label in getattr(ax, f"get_{axis}ticklabels")()]
        assert not any("." in text for text in texts)


def test_legends_keep_off_what_is_drawn():
    before, full, _ = tables()
    flat = history()
    flat.history_ = flat.history_.assign(loss=1.0, val_error=0.9)
    curve = plot.convergence(flat)
    bars = [plot.distributions(before, full, [name])[0] for name in ("weight", "ward")]
    for ax in (curve, *bars):
        ax.figure.canvas.draw()
        box = ax.get_legend().get_window_extent()
        drawn = [*ax.lines, *ax.patches]
        assert drawn
        assert not any(box.overlaps(one.get_window_extent()) for one in drawn)
