"""Configures Sphinx for the documentation site (`make docs`).

The pages are the Markdown files of this folder, which are also readable on a code host. Their links
are relative, as a code host expects them. This file adapts links that leave the folder: it maps
them to a page of the site, to the repository if `ONEXPU_REPOSITORY_URL` names its address, and
otherwise to plain text.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

import onexpu  # noqa: E402 - the search path comes first

project = "onexpu"
author = "the onexpu contributors"
copyright = author
release = version = onexpu.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "index"
nitpicky = True
# Docstrings write names in single backticks, and types as prose. Those that are documented become
# links; the others are no mistakes.
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*"), ("py:(class|exc)", r"(?!onexpu\.).*")]

myst_heading_anchors = 4

autodoc_typehints = "none"  # the docstrings state the types
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
maximum_signature_line_length = 88

highlight_language = "none"  # of indented blocks, which are commands and messages

html_theme = "furo"
html_title = f"onexpu {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Pages that show a file of the repository's root, and the page that stands for README.md.
_ROOT_PAGES = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "developer/contributing",
    "SECURITY.md": "security",
}
_PAGES = {**_ROOT_PAGES, "README.md": "index"}
_REPOSITORY = os.environ.get("ONEXPU_REPOSITORY_URL", "").rstrip("/")
_LINK = re.compile(
    r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])+)\]\((?P<path>[\w./-]+)(?P<anchor>#[^)]*)?\)"
)


def _adapt_links(text: str, folder: pathlib.Path, page: pathlib.Path) -> str:
    """Returns Markdown whose links are relative to `page` and do not leave the site.

    Parameters
    ----------
    text : str
    folder : pathlib.Path
        The folder that the links of `text` are relative to.
    page : pathlib.Path
        The page that shows `text`.
    """

    def adapt(match: re.Match[str]) -> str:
        target = (folder / match["path"]).resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            return match[0]  # Sphinx reports it
        name = target.relative_to(ROOT).as_posix()
        link_text = match["text"]
        if link_text.endswith(".md") and pathlib.Path(link_text).name == target.name:
            link_text = ""  # the title of the page or of the section
        if name in _PAGES:
            target = DOCS / f"{_PAGES[name]}.md"
        if target.is_relative_to(DOCS):
            path = os.path.relpath(target, page.parent)
            return f"[{link_text}]({path}{match['anchor'] or ''})"
        if _REPOSITORY:
            return f"[{match['text']}]({_REPOSITORY}/blob/main/{name}{match['anchor'] or ''})"
        return match["text"]

    return _LINK.sub(adapt, text)


def _read_source(app: Sphinx, docname: str, content: list[str]) -> None:
    """Shows a file of the root instead of its page, and adapts links."""
    page = DOCS / f"{docname}.md"
    for name, shown_by in _ROOT_PAGES.items():
        if shown_by == docname:
            app.env.note_dependency(str(ROOT / name))
            content[0] = _adapt_links((ROOT / name).read_text(), ROOT, page)
            return
    content[0] = _adapt_links(content[0], page.parent, page)


def _hide_constructor(
    app: Sphinx, what: str, name: str, obj: object, options: Any, signature: str, returned: str
) -> tuple[str, str | None] | None:
    """Omits the parameters of classes, which functions create."""
    return ("", None) if what in ("class", "exception") else None


def _hide_private_module(app: Sphinx, domain: str, kind: str, node: Any) -> None:
    """Omits the module of a class that is returned by public functions and has no public name."""
    from sphinx.addnodes import desc_addname, desc_signature

    for signature in node.findall(desc_signature):
        for prefix in list(signature.findall(desc_addname)):
            if "._" in prefix.astext():
                prefix.parent.remove(prefix)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connects the functions of this file."""
    app.connect("source-read", _read_source)
    app.connect("autodoc-process-signature", _hide_constructor)
    app.connect("object-description-transform", _hide_private_module)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
