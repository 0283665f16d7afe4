"""The documentation site is complete and consistent with the code (docs/conf.py)."""

from __future__ import annotations

import argparse
import pathlib
import re
from collections.abc import Iterator

import pytest

import onexpu
from onexpu import __main__ as command_line
from tools import documentation

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *PAGES]

_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def _text(document: pathlib.Path) -> str:
    """A document's text without blocks of code."""
    return _FENCED.sub("", document.read_text())


def _anchors(document: pathlib.Path) -> set[str]:
    """The anchors that code hosts and Sphinx make of headings."""
    headings = re.findall(r"^#+ (.*)", _text(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def _children(page: pathlib.Path) -> Iterator[pathlib.Path]:
    for tree in _TOCTREE.findall(page.read_text()):
        for line in tree.splitlines():
            if line and not line.startswith(":"):
                yield (page.parent / f"{line}.md").resolve()


def test_every_page_is_in_the_table_of_contents() -> None:
    index = DOCS / "index.md"
    found, pending = {index}, [index]
    while pending:
        for child in _children(pending.pop()):
            assert child not in found, f"{child.name} is listed twice"
            found.add(child)
            pending.append(child)
    assert found == set(PAGES)


def test_links_lead_to_files_and_headings() -> None:
    broken = []
    for document in DOCUMENTS:
        for target, anchor in _LINK.findall(_text(document)):
            if target.startswith("https://"):
                continue
            path = (document.parent / target).resolve() if target else document
            is_page = path.suffix == ".md"
            if not path.exists() or (anchor and is_page and anchor not in _anchors(path)):
                broken.append(f"{document.relative_to(ROOT)}: {target}#{anchor}")
    assert not broken


@pytest.mark.parametrize(
    ("page", "module"), [("api.md", onexpu), ("api_kernels.md", onexpu.kernels)]
)
def test_every_public_name_is_in_the_reference(page: str, module) -> None:
    listed = re.findall(
        rf"^\.\. auto\w+:: {module.__name__}\.(\w+)$", (DOCS / page).read_text(), re.M
    )
    assert sorted(listed) == sorted(set(module.__all__) - {"kernels"})


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield name
                yield from _options(command)
        elif not isinstance(action, argparse._HelpAction):
            yield (
                action.option_strings[0] if action.option_strings else action.metavar or action.dest
            )


def test_every_option_is_on_the_page_of_the_command_line() -> None:
    text = (DOCS / "command_line.md").read_text()
    options = set(_options(command_line.make_parser()))
    assert not {option for option in options if not re.search(rf"`{re.escape(option)}\b", text)}
    documented = re.findall(r"^\| `(--[\w-]+)", text, re.MULTILINE)
    assert set(documented) == {option for option in options if option.startswith("--")}


def test_every_variable_is_on_the_page_of_the_environment() -> None:
    read = set()
    for folder in ("pjrt_core", "tf_plugin", "custom_kernels", "onexpu"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".cc", ".h"):
                read |= set(re.findall(r'"(ONEXPU_[A-Z0-9_]+)"', path.read_text()))
    documented = set(re.findall(r"^\| `(ONEXPU_\w+)`", (DOCS / "environment.md").read_text(), re.M))
    assert read == documented


def _sources() -> str:
    """The sources with the pieces of their strings joined, as the messages appear to users."""
    text = []
    for folder in ("pjrt_core", "tf_plugin", "custom_kernels", "onexpu"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".cc", ".h"):
                text.append(path.read_text())
    return re.sub(r'"[,\s]*f?"', "", "\n".join(text))


def test_messages_of_the_troubleshooting_page_are_those_of_the_code() -> None:
    page = (DOCS / "troubleshooting.md").read_text()
    ours = page[: page.index("## Messages of other projects")]
    sources, unknown = _sources(), []
    for cell in re.findall(r"^\| (`[^|]*) \|", ours, re.MULTILINE):
        for message in re.findall(r"`([^`]+)`", cell):
            parts = [part.strip() for part in message.split("...")]
            unknown += [part for part in parts if len(part) > 3 and part not in sources]
    # Raised by clang and by JAX.
    foreign = ["'type_traits' file not found"]
    foreign += ["__dlpack__ device only supported for CPU and GPU, got platform: xpu"]
    foreign += ["cannot be used as a DLPack device."]
    assert unknown == foreign


def test_the_site_builds_without_warnings(tmp_path: pathlib.Path) -> None:
    for module in ("sphinx", "myst_parser", "furo", "sphinx_copybutton"):
        pytest.importorskip(module, reason="pip install -r requirements-docs.txt")
    site = tmp_path / "site"
    assert documentation.build(site) == 0
    assert documentation.broken_links(site) == []
    names = re.findall(r'<dt [^>]*id="([^"]+)"', (site / "api.html").read_text())
    assert {"onexpu.sycl_kernel", "onexpu.SyclKernel.defgradient"} <= set(names)


def test_broken_links_of_a_site_are_found(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#x">1</a><a href="#top">2</a>'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#top">3</a><a href="c.html">4</a>')
    assert documentation.broken_links(tmp_path) == ["a.html: b.html#x", "b.html: c.html"]
