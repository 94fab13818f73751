"""`python -m macfm` is the command `macfm`."""

from macfm.cli import main

main()
