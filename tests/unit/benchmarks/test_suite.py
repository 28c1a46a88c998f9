"""Which tables a run of the benchmarks writes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

_NAME = "benchmarks.__main__"


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return the program with three measures, of two tables.

    The real ones are not imported: they register tasks, under names that other tests use.
    """
    measures = ModuleType("benchmarks.measures")
    vars(measures).update(
        MEASURES={name: (lambda jobs, name=name: {f"{name}_us": jobs}, 1_000) for name in "abc"},
        TABLES={"first": ("a", "b"), "second": ("c",)},
    )
    monkeypatch.setitem(sys.modules, measures.__name__, measures)
    sys.modules.pop(_NAME, None)
    yield importlib.import_module(_NAME)
    del sys.modules[_NAME]


@pytest.fixture
def written(suite: ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the tables that are written."""
    found: dict[str, str] = {}
    monkeypatch.setattr(suite, "write", lambda table, text, page: found.update({table: text}))
    return found


@pytest.mark.parametrize(
    ("only", "tables"), [("a,b,c", ["first", "second"]), ("c", ["second"]), ("a,c", ["second"])]
)
def test_a_table_is_written_if_all_its_measures_ran(
    only: str, tables: list[str], suite: ModuleType, written: dict[str, str], tmp_path: Path
) -> None:
    assert suite.main(["--only", only, "--write", "--out", str(tmp_path)]) == 0

    assert list(written) == tables
    assert "c_us" in written["second"]
    assert "a_us" not in written["second"]


def test_nothing_is_written_unless_told(
    suite: ModuleType, written: dict[str, str], tmp_path: Path
) -> None:
    assert suite.main(["--scale", "0.5", "--out", str(tmp_path)]) == 0

    assert written == {}
    assert '"a_us": [\n   500' in (tmp_path / "bench.json").read_text()


def test_half_a_table_is_refused_before_anything_is_measured(
    suite: ModuleType,
    written: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        suite.main(["--only", "a", "--write", "--out", str(tmp_path / "out")])

    assert "--write needs all measures of a table: first: a,b; second: c" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert written == {}
