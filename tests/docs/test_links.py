"""Links between the pages lead somewhere: the file is there, and the heading too."""

import re
from pathlib import Path

import pytest

from tests.paths import ROOT

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.strip().lower())
        found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return found


def pages() -> list[str]:
    """Return all pages, relative to the root."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    return [str(page.relative_to(ROOT)) for page in sorted(found)]


@pytest.mark.parametrize("name", pages())
def test_the_links_of_a_page_lead_somewhere(name: str) -> None:
    page = ROOT / name
    broken = []

    for target in LINK.findall(CODE.sub("", page.read_text())):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)

    assert not broken


@pytest.mark.parametrize("name", pages())
def test_the_files_that_a_page_names_are_there(name: str) -> None:
    folders = "queuepool|consumer|coordinator|tests|tools|benchmarks|examples|proto"
    named = re.findall(rf"`((?:{folders})/[\w./]*)`", (ROOT / name).read_text())

    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_is_reachable_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    decisions = ROOT / "docs" / "adr" / "README.md"
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in (index, decisions)
        for target in LINK.findall(page.read_text())
        if "://" not in target
    }

    missing = set((ROOT / "docs").rglob("*.md")) - linked - {index}

    assert not missing
