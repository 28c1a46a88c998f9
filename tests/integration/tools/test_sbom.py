"""The bill of materials names what an installation gets, and no tool of development."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tools import sbom

pytestmark = pytest.mark.xdist_group("sbom")  # to read an environment takes seconds


@pytest.fixture(scope="module")
def installed() -> dict[str, Any]:
    return sbom.environment()


@pytest.fixture(scope="module")
def made(installed: dict[str, Any]) -> dict[str, Any]:
    return sbom.pruned(installed, sbom.runtime_graph())


def names(bill: dict[str, Any]) -> set[str]:
    return {sbom.normalised(component["name"]) for component in bill["components"]}


def test_every_runtime_dependency_is_named_with_version_and_licence(made: dict[str, Any]) -> None:
    assert set(sbom.runtime_dependencies()) <= names(made)
    assert {"hiredis", "pydantic", "pydantic-core"} <= names(made)  # needed by those, or by extras
    for component in made["components"]:
        assert component["version"]
        assert component["licenses"], component["name"]
        assert component["purl"].startswith("pkg:pypi/")


def test_tools_of_development_are_left_out(made: dict[str, Any]) -> None:
    assert not names(made) & {"pytest", "mypy", "ruff", "cyclonedx-bom", "setuptools", "pip"}


def test_it_says_who_needs_whom(made: dict[str, Any]) -> None:
    root = made["metadata"]["component"]
    needs = {each["ref"]: each["dependsOn"] for each in made["dependencies"]}
    references = {component["bom-ref"] for component in made["components"]}

    assert root["name"] == "queuepool"
    assert len(needs[root["bom-ref"]]) == len(sbom.runtime_dependencies())
    assert needs.keys() == references | {root["bom-ref"]}
    assert {each for some in needs.values() for each in some} == references


def test_the_command_writes_the_same_again_and_no_path_of_this_machine(
    installed: dict[str, Any],
    made: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "new" / "sbom.json"
    monkeypatch.setattr(sys, "argv", ["sbom", "--out", str(path)])
    again = {**installed, "components": installed["components"][:]}
    monkeypatch.setattr(sbom, "environment", lambda: again)

    assert sbom.main() == 0

    assert path.read_text() == sbom.written(made)
    assert str(sbom.ROOT) not in path.read_text()
    assert made["bomFormat"] == "CycloneDX"


def test_a_version_that_is_not_the_locked_one_is_reported(made: dict[str, Any]) -> None:
    versions = sbom.locked()
    assert sbom.problems(made, versions) == []

    versions["redis"] = {"1.0"}
    del versions["rich"]

    assert [text.rpartition(" has ")[2] for text in sbom.problems(made, versions)] == [
        "1.0",
        "none",
    ]
