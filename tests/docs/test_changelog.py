"""The changelog keeps its sections, so that a reader finds a change where it belongs."""

from __future__ import annotations

import re

from tests.paths import ROOT

KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
TEXT = (ROOT / "CHANGELOG.md").read_text()


def test_each_version_has_each_kind_of_change_once_and_in_order() -> None:
    versions = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]

    assert len(versions) > 1
    for version in versions:
        kinds = re.findall(r"^### (.*)$", version, flags=re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds], version.splitlines()[0]


def test_every_heading_has_a_text_and_no_change_is_told_twice() -> None:
    headings = re.findall(r"^#.*$", TEXT, flags=re.MULTILINE)
    changes = re.findall(r"^- .*$", TEXT, flags=re.MULTILINE)

    assert [one for one in headings if not re.fullmatch(r"#{1,4} \S.*", one)] == []
    assert {one for one in changes if changes.count(one) > 1} == set()
