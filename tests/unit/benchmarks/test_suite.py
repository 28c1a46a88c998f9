"""Which tables a run of the benchmarks writes."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchmarks.__main__ as suite


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the tables that are written; there are three measures, of two tables."""
    measures = {name: (lambda jobs, name=name: {f"{name}_us": jobs}, 1_000) for name in "abc"}
    found: dict[str, str] = {}
    monkeypatch.setattr(suite, "MEASURES", measures)
    monkeypatch.setattr(suite, "TABLES", {"first": ("a", "b"), "second": ("c",)})
    monkeypatch.setattr(suite, "write", lambda table, text, page: found.update({table: text}))
    return found


@pytest.mark.parametrize(
    ("only", "tables"), [("a,b,c", ["first", "second"]), ("c", ["second"]), ("a,c", ["second"])]
)
def test_a_table_is_written_if_all_its_measures_ran(
    only: str, tables: list[str], written: dict[str, str], tmp_path: Path
) -> None:
    assert suite.main(["--only", only, "--write", "--out", str(tmp_path)]) == 0

    assert list(written) == tables
    assert "c_us" in written["second"]
    assert "a_us" not in written["second"]


def test_nothing_is_written_unless_told(written: dict[str, str], tmp_path: Path) -> None:
    assert suite.main(["--scale", "0.5", "--out", str(tmp_path)]) == 0

    assert written == {}
    assert '"a_us": [\n   500' in (tmp_path / "bench.json").read_text()


def test_half_a_table_is_refused_before_anything_is_measured(
    written: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        suite.main(["--only", "a", "--write", "--out", str(tmp_path / "out")])

    assert "--write needs all measures of a table: first: a,b; second: c" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert written == {}
