"""queuepool protocol: the scripts, as servers run them."""

import pytest

from queuepool.cli.exits import Exit
from queuepool.verbs.scripts import named, names, script
from tests.shell import Shell


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_a_verb_is_shown_with_its_parts_as_servers_run_it(shell: Shell) -> None:
    assert shell.run("protocol", "show", "claim") == Exit.OK

    assert named("claim", shell.out.encode()) == script("claim")
    assert "-- uses: " not in shell.out


def test_without_a_verb_each_has_a_line(shell: Shell) -> None:
    assert shell.run("protocol", "show") == Exit.OK

    lines = [line.split(maxsplit=1) for line in shell.out.splitlines()]
    assert [name for name, _summary in lines] == names()
    assert ["peek", "whether a partition is in use."] in lines
    assert all(summary.endswith(".") for _name, summary in lines)
