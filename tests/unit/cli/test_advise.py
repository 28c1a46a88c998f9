"""What `queuepool advise` says when servers do not answer."""

from __future__ import annotations

from argparse import Namespace

import pytest

from queuepool.cli.commands import advise
from queuepool.cli.exits import Exit
from queuepool.models.advice import Advised, Loads, ServerLoad

MAIN = ServerLoad(name="main", cpu=0.1, calls=9, used=10**6, limit=0, growth=0.0)
SILENT = {"big": "ConnectionError: refused"}


def said(
    loads: Loads, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[Exit, str]:
    monkeypatch.setattr(advise, "act", lambda *_: Advised(at_ms=7, loads=loads))
    code = advise.run(Namespace(grpc=None, json=False))
    return code, capsys.readouterr().out


def test_nothing_to_change_is_said_of_servers_that_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = said(Loads(over_s=60, servers=(MAIN,)), monkeypatch, capsys)

    assert code is Exit.OK
    assert out.startswith("Nothing to change, by what was seen in 60 s.")
    assert "does not answer" not in out


def test_no_advice_is_given_about_a_server_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = said(Loads(over_s=60, silent=SILENT), monkeypatch, capsys)
    beside = said(Loads(over_s=60, servers=(MAIN,), silent=SILENT), monkeypatch, capsys)

    first, second, *more = beside[1].splitlines()
    assert first == "server big does not answer: no advice for its partitions (queuepool check)"
    assert second == "    ConnectionError: refused"
    assert more[0] == "Nothing to change, by what was seen in 60 s."
    assert alone[1].splitlines() == [first, second]
    assert (alone[0], beside[0]) == (Exit.UNAVAILABLE, Exit.UNAVAILABLE)
