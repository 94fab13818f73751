"""The command `macfm`: flags to parameters, no logic."""

from macfm.cli._main import main

__all__ = ["main"]
