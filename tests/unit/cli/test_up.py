"""`queuepool up` says what it cannot run on this installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from queuepool.cli import main
from queuepool.cli.commands import up
from queuepool.cli.exits import Exit


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "no web page: it needs the extra `web`: pip install"),
        (["--no-web"], None),
        (["--web"], "queuepool: --web needs the extra `web`: pip install"),
    ],
    ids=["unsaid", "no page", "page"],
)
def test_why_there_is_no_page(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    says: str | None,
) -> None:
    monkeypatch.setattr(up, "_OF_PAGE", ("no_such_package_anywhere",))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".queuepool").touch()  # no directory: nothing can be started

    assert main(["up", "--app", "tasks", *words]) == Exit.USAGE

    said = capsys.readouterr().err
    assert "the extra" not in said if says is None else says in said
