"""Reports as plain text."""

from __future__ import annotations


def render(renderable: object) -> str:
    """Returns what rich would print, without colours."""
    import io

    import rich.console

    output = io.StringIO()
    rich.console.Console(file=output, width=110).print(renderable)
    return output.getvalue()
