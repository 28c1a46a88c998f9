"""The site of `make docs`: its reading order has every page, and it fetches from no other host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT
from tools.site import fetched, navigation, search_offline


def pages_of(nav: list[Any]) -> Iterator[str]:
    for item in nav:
        if isinstance(item, str):
            yield item
        else:
            for below in item.values():
                yield from [below] if isinstance(below, str) else pages_of(below)


def test_the_reading_order_has_every_page_once() -> None:
    nav = navigation((ROOT / "docs" / "README.md").read_text())

    found = list(pages_of(nav))
    assert len(found) == len(set(found))
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}
    assert pages - set(found) == {"docs/README.md"}
    assert all((ROOT / page).exists() for page in found)
    assert found[:2] == ["README.md", "docs/first-day.md"]


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://unpkg.com/x"></script>',
        "<script defer src=//cdn.example/x></script>",
        '<link rel="stylesheet" href="https://fonts.googleapis.com/css">',
        '<link href="https://fonts.gstatic.com" rel="preconnect">',
        '<img alt="" src="http://example.org/badge.svg">',
        "<style>@import url(//x.example/a.css)</style>",
    ],
)
def test_what_a_browser_would_fetch_from_another_host_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "page.html").write_text(f"<p>{text}</p>")

    assert len(fetched(tmp_path)) == 1


def test_links_are_no_fetches_and_the_search_works_by_our_own_script(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<a href="https://example.org">x</a><img src="a.svg"><link rel="canonical" '
        'href="https://example.org"><script src="https://unpkg.com/iframe-worker/shim"></script>'
    )

    search_offline(tmp_path)

    assert fetched(tmp_path) == []
    assert "window.Worker = class" in page.read_text()
