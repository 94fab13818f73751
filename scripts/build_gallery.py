"""Run the examples and write the gallery page with their pictures.

    python scripts/build_gallery.py            # all of them, then the page
    python scripts/build_gallery.py draws      # one picture, then the page
    python scripts/build_gallery.py --page     # the page only

Pictures go to docs/images/gallery/, where they are kept, so that the documentation is
built without running anything.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, DOCS = ROOT / "examples", ROOT / "docs"
PICTURES = DOCS / "images" / "gallery"
MOST_BYTES = 120_000

ORDER = (
    *("passengers", "first_look", "mechanisms", "compare", "draws", "categories"),
    *("dates_and_bounds", "train_test", "pooling", "save_and_ship", "trajectories"),
)

HEAD = """\
# Gallery

Short stories that end in a picture. Each is a script of its own in `examples/`, takes
seconds to a minute on a CPU, and uses only data that come with scikit-learn or are made
up. Written by `scripts/build_gallery.py`.
"""


@dataclass(frozen=True)
class Example:
    """A script of the gallery."""

    name: str
    """Its file is ``plot_<name>.py``."""
    title: str
    """First line of its docstring, without the period."""
    story: str
    """The rest of the docstring."""

    @property
    def anchor(self) -> str:
        """Where the page tells its story."""
        return self.name.replace("_", "-")


def examples() -> list[Example]:
    """Read every example, in the order of the page; new ones come last."""
    names = [path.stem.removeprefix("plot_") for path in EXAMPLES.glob("plot_*.py")]
    place = {name: k for k, name in enumerate(ORDER)}
    found = []
    for name in sorted(names, key=lambda name: (place.get(name, len(place)), name)):
        source = (EXAMPLES / f"plot_{name}.py").read_text(encoding="utf-8")
        title, _, story = ast.get_docstring(ast.parse(source)).partition("\n\n")
        found.append(Example(name, title.rstrip("."), story))
    return found


def page(found: list[Example]) -> str:
    """Return the gallery as Markdown: thumbnails, then story, picture and code."""
    cards = "\n".join(
        f'<a href="#{e.anchor}"><img src="images/gallery/{e.name}.png" alt="">'
        f"{e.title}</a>"
        for e in found
    )
    parts = [HEAD, f'<div class="gallery">\n{cards}\n</div>\n']
    for e in found:
        parts.append(
            f"## {e.title} {{ #{e.anchor} }}\n\n{e.story}\n\n"
            f"![{e.title}](images/gallery/{e.name}.png)\n\n"
            f'??? example "examples/plot_{e.name}.py"\n\n'
            f'    ```python\n    --8<-- "examples/plot_{e.name}.py"\n    ```\n'
        )
    return "\n".join(parts)


def shrink(picture: Path) -> None:
    """Reduce a picture to 128 colours, which flat drawings do not miss."""
    from PIL import Image

    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)


def run(example: Example) -> None:
    """Run one example on one core and keep its picture."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = PICTURES / f"{example.name}.png"
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, EXAMPLES / f"plot_{example.name}.py", picture],
        check=True,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"},
    )
    seconds = time.perf_counter() - began
    shrink(picture)
    size = picture.stat().st_size
    print(f"{example.name:<18} {seconds:5.1f} s {size / 1000:6.0f} kB")
    if size > MOST_BYTES:
        raise SystemExit(f"{picture.name} is larger than {MOST_BYTES / 1000:.0f} kB")


def main() -> None:
    """Read the command line, run, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="examples to run; all by default")
    parser.add_argument("--page", action="store_true", help="run none")
    options = parser.parse_args()
    found = examples()
    unknown = set(options.names) - {e.name for e in found}
    if unknown:
        parser.error(f"there is no example {', '.join(sorted(unknown))}")
    for example in found:
        if not options.page and (not options.names or example.name in options.names):
            run(example)
    (DOCS / "gallery.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
