"""Reports as plain text."""

from __future__ import annotations


def render(renderable: object) -> str:
    """Returns what rich would print, without colours."""
    import io

    import rich.console

    console = rich.console.Console(file=io.StringIO(), width=110)
    console.print(renderable)
    return console.file.getvalue()
