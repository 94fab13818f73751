"""`macfm completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from macfm.cli._command import Polite

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Polite)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes macfm's commands and options in a shell.

    \b
    Examples:
      macfm completion bash > ~/.macfm-complete.bash
      echo '. ~/.macfm-complete.bash' >> ~/.bashrc
      macfm completion zsh > ~/.macfm-complete.zsh
      echo '. ~/.macfm-complete.zsh' >> ~/.zshrc
      macfm completion fish > ~/.config/fish/completions/macfm.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    root = ctx.find_root().command
    click.echo(made(root, {}, "macfm", "_MACFM_COMPLETE").source())
