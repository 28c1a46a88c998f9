"""queuepool faults: a ledger, a line of JSON, and mistakes in what is named."""

import json
from pathlib import Path

import pytest

from queuepool.cli import main
from queuepool.cli.exits import Exit

SHOP = """\
from queuepool import task
sent = []

@task(name="{name}")
def mail(to: str) -> None:
    sent.append(to)

def bad(pool):
    sent.clear()
    pool.enqueue(mail.job(to="ada"), partition_key="k")
    return lambda: sent

def good(pool):
    bad(pool)
    return lambda: set(sent)
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module with two scenarios."""
    name = f"shop_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(SHOP.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_ledger_is_printed_and_the_exit_code_tells(
    shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["faults", f"{shop}:good"]) == Exit.OK
    assert main(["faults", f"{shop}:bad", "--kind", "kill"]) == Exit.FAILED

    shown = capsys.readouterr().out
    assert "1 job, 2 runs with a fault each: 2 kill" in shown
    assert "'ada' 2 times instead of 1" in shown


def test_json_has_every_finding(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["faults", f"{shop}:bad", "--kind", "kill", "--json"])

    ledger = json.loads(capsys.readouterr().out)
    assert (ledger["jobs"], ledger["tried"], ledger["left_out"]) == (1, {"kill": 2}, 0)
    assert [f["line"] for f in ledger["findings"]] == ["its last line"]
    assert ledger["findings"][0]["verdict"] == "twice"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{shop}"], "name it as MODULE:FUNCTION"),
        (["{shop}:none"], "has no function 'none'"),
        (["nowhere_at_all:bad"], "queuepool: module nowhere_at_all: there is no such module in "),
        (["{shop}:bad", "--kind", "flood"], "use one of kill, twice"),
    ],
)
def test_what_is_named_must_be_there(
    shop: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["faults", *(word.format(shop=shop) for word in words)]) == Exit.USAGE

    assert message in capsys.readouterr().err
