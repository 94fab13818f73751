"""Hook of the documentation: links that leave ``docs/`` become plain names.

Pages link to files of the repository (specs, scripts, records), which readers of the
repository can follow. The site does not hold those files, so there the link turns into
its text. One that leads nowhere is a warning, and the strict build fails.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)\s#]+)(#[^)]*)?\)")
LOG = logging.getLogger("mkdocs.hooks.links")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Replace links out of the documentation by their text."""
    docs = Path(config.docs_dir).resolve()
    here = Path(page.file.abs_src_path).parent

    def replace(found: re.Match[str]) -> str:
        target = (here / found[2]).resolve()
        if target.is_relative_to(docs):
            return found[0]
        if not target.exists():
            LOG.warning("%s links to %s, which is not there", page.file.src_uri, target)
        return found[1]

    return LINK.sub(replace, markdown)
