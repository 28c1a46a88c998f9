"""docs/dependencies.md explains the bounds that pyproject.toml has."""

import re
import tomllib

from tests.paths import ROOT

PAGE = (ROOT / "docs" / "dependencies.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_dependency_is_explained_with_its_bounds() -> None:
    section = PAGE.partition("## Every installation\n")[2].partition("## Extras\n")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|.*\|$", section, re.MULTILINE)

    assert sorted(name + bounds for name, bounds in rows) == sorted(PROJECT["dependencies"])
    assert all(re.search(">=.+,<", bounds) for _, bounds in rows)


def test_every_extra_is_explained() -> None:
    extras = PAGE.partition("## Extras\n")[2]

    assert set(re.findall(r"^\| `(\w+)` \|", extras, re.MULTILINE)) == set(
        PROJECT["optional-dependencies"]
    )
