"""Every script has a twin in memory and a test that runs on both."""

import re

from queuepool.testing import server
from queuepool.verbs.acl import ROLES
from queuepool.verbs.scripts import joined, names, script
from tests.paths import ROOT


def test_every_script_has_a_twin_in_memory() -> None:
    assert sorted(server._VERBS) == names()


def test_every_script_is_tried_by_a_contract_test() -> None:
    tests = "\n".join(p.read_text() for p in (ROOT / "tests" / "contract").glob("test_*.py"))

    assert [n for n in names() if not re.search(rf"\.\w*{n}\(|\"{n}\"|\b{n}\.\w+\(", tests)] == []


def test_every_script_names_roles_that_there_are_and_operators() -> None:
    for name in names():
        roles = script(name).header("ROLES").split()
        assert set(roles) <= set(ROLES), name
        assert "ops" in roles, name


def test_a_part_named_within_a_block_is_there_for_that_block_alone() -> None:
    parts = {"parts/n": b"local n = 1\n", "parts/m": b"-- uses: n\nlocal m = n\n"}
    inner = b"do\n  -- uses: m, n\nend\n"

    twice = joined({"owner/twice": inner + b"-- uses: n\n" + inner, **parts})["twice"].source

    block = b"do\n  local n = 1\n  local m = n\nend\n"
    assert twice == block + b"local n = 1\n" + b"do\n  local m = n\nend\n"
