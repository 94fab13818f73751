"""From a template to a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from macfm._words import count, listed, percent
from macfm.page._theme import COLOURS


def require(package: str, otherwise: str = "") -> None:
    """Raise an error that names the extra if a package of the report is absent."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        also = f" ({otherwise})" if otherwise else ""
        raise ImportError(
            f'the report needs {package}: pip install "macfm[report]"{also}'
        )


def render(
    package: str, *, tests: Mapping[str, Callable[[Any], bool]] = {}, **values: Any
) -> str:
    """Return the page of a package's ``templates/report.html.jinja``.

    Parameters
    ----------
    package : str
        Name of the package, whose ``templates/report.css`` the page takes too.
    tests : mapping, default={}
        Tests that the template asks, beside those of jinja.
    **values
        What it shows.
    """
    require("jinja2")
    import jinja2

    places = [jinja2.PackageLoader(place) for place in (package, __package__)]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(places),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"percent": percent, "count": count, "listed": listed}
    environment.filters |= {"thousands": lambda n: f"{n:,}", "code": _code}
    environment.tests |= tests
    environment.globals["colours"] = COLOURS
    return environment.get_template("report.html.jinja").render(**values)


def _code(text: str) -> str:
    """Text with what stands between backticks set as code, the rest escaped."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    for place in range(1, len(parts), 2):
        parts[place] = Markup("<code>{}</code>").format(parts[place])
    return Markup("").join(parts)
