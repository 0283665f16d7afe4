"""Builds the documentation site with Sphinx and checks its links: `make docs`.

    .venv/bin/python -m tools.documentation [--output DIR] [--external]

Sphinx's warnings are errors, such as those of broken references in the Markdown pages. A second
check reads the HTML, so it also covers links that docstrings and the theme create. `--external`
requests the addresses of other sites as well, which needs a network.
"""

from __future__ import annotations

import argparse
import html.parser
import pathlib
import subprocess
import sys
import urllib.parse

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_DOCS = _ROOT / "docs"


class _Page(html.parser.HTMLParser):
    """Collects the anchors and the links of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Reads the attributes of an element."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src"):
                self.links.add(value)


def broken_links(site: pathlib.Path) -> list[str]:
    """Returns the links inside a site that lead to no file or to no anchor.

    Parameters
    ----------
    site : pathlib.Path
        The directory of the HTML files.

    Returns
    -------
    list of str
        ``page: link``, sorted.
    """
    pages = {path.resolve(): _Page(path.read_text()) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = path
            if address.path:
                target = (path.parent / urllib.parse.unquote(address.path)).resolve()
            anchor = urllib.parse.unquote(address.fragment)
            is_page = target in pages
            if not target.exists() or (anchor and is_page and anchor not in pages[target].anchors):
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(broken)


def build(output: pathlib.Path, builder: str = "html") -> int:
    """Runs Sphinx with warnings as errors.

    Parameters
    ----------
    output : pathlib.Path
    builder : str
        The name of a builder of Sphinx.

    Returns
    -------
    int
        Sphinx's exit status.
    """
    options = ["--builder", builder, "--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    doctrees = output.parent / f"{output.name}-doctrees"
    command = [sys.executable, "-m", "sphinx", *options, "--doctree-dir", str(doctrees)]
    return subprocess.run([*command, str(_DOCS), str(output)], cwd=_ROOT, check=False).returncode


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=_ROOT / "build" / "docs")
    parser.add_argument(
        "--external", action="store_true", help="request the addresses of other sites, too"
    )
    arguments = parser.parse_args()
    status = build(arguments.output)
    if status:
        return status
    broken = broken_links(arguments.output)
    for link in broken:
        print(f"broken link: {link}", file=sys.stderr)
    if broken:
        return 1
    if arguments.external:
        status = build(arguments.output.with_name(f"{arguments.output.name}-links"), "linkcheck")
    if not status:
        print(f"The site is {arguments.output / 'index.html'}.")
    return status


if __name__ == "__main__":
    sys.exit(main())
