"""Tests of a folder stand in a folder of the same name."""

import pytest

from tests.paths import ROOT

ROOMS = [("", "queuepool"), ("consumer", "consumer"), ("coordinator", "coordinator")]
# Of the repository's other programs, and of cli, whose folders are one page to their users.
BESIDE = {"benchmarks", "tools", "consumer", "coordinator", "cli"}


@pytest.mark.parametrize("level", ["unit", "integration"])
@pytest.mark.parametrize(("room", "package"), ROOMS)
def test_folders_of_tests_are_named_after_those_of_the_product(
    level: str, room: str, package: str
) -> None:
    folders = {file.parent for file in (ROOT / "tests" / level / room).rglob("test_*.py")}
    names = {folder.relative_to(ROOT / "tests" / level / room).as_posix() for folder in folders}

    missing = {
        name
        for name in names - {"."}
        if name.partition("/")[0] not in BESIDE and not (ROOT / package / name).is_dir()
    }

    assert not missing
