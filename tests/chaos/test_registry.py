"""The registry: which faults run, what their rows say, and that a violation fails the command."""

import tempfile
from pathlib import Path

import pytest

from tests.chaos import __main__ as command
from tests.chaos.checker import Verdict
from tests.chaos.registry import Fault, Result, Row, Trial, chosen, faults


def fault(number: str, *violations: str, jobs: int = 10) -> Fault:
    def run(trial: Trial) -> Result:
        if not jobs:
            raise AssertionError("it never came")
        seen = Verdict(jobs=jobs, takeovers_s=(1.0, trial.number + 1.0), violations=violations)
        return Result(verdict=seen, sums={"kills": 2}, peaks={"connections": trial.number})

    return Fault(number=number, name="a name", expected="nothing | lost", procedure=run)


def test_every_fault_of_the_package_is_found_once_and_has_its_words() -> None:
    found = faults()

    assert {"F1a", "F1b", "F2", "F3", "F4", "F5a", "F5b", "F7a"} <= {f.number for f in found}
    assert all(f.name and f.expected and f.runs > 0 for f in found)


def test_faults_are_chosen_by_number_and_a_number_means_its_forms() -> None:
    known = [fault(n) for n in ("F1", "F5a", "F5b", "F10")]

    assert chosen(known, "") == known
    assert [f.number for f in chosen(known, "f1")] == ["F1"]
    assert [f.number for f in chosen(known, "F5,F10")] == ["F5a", "F5b", "F10"]
    assert [f.number for f in chosen(known, "F5b")] == ["F5b"]
    with pytest.raises(LookupError, match="no fault F9; there are F1"):
        chosen(known, "F9")


def test_a_row_adds_up_its_runs() -> None:
    one = fault("F1", "lost: a", jobs=1500)
    row = Row(one, [one.run(Trial(n, True, Path())) for n in range(2)])

    assert row.violations == ["run 0: lost: a", "run 1: lost: a"]
    assert [str(cell) for cell in row.cells()] == [
        "F1 a name", "nothing | lost", "2", "3,000", "0", "0 of 0", "0", "1.00 / 2.00", "2",
        "kills 4, connections at most 1",
    ]  # fmt: skip


def test_a_run_that_fails_is_a_violation() -> None:
    result = fault("F1", jobs=0).run(Trial(0, True, Path()))

    assert "it never came" in result.verdict.violations[0]


@pytest.mark.parametrize(("violations", "code"), [((), 0), (("lost: a",), 1)])
def test_the_command_fails_when_something_was_violated(
    violations: tuple[str, ...],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(command, "faults", lambda: [fault("F1", *violations)])
    monkeypatch.setattr("sys.argv", ["chaos", "--runs", "1"])

    assert command.main() == code
    assert ("VIOLATION  F1 run 0: lost: a" in capsys.readouterr().out) == bool(violations)
    assert len(list(tmp_path.iterdir())) == len(violations)  # the files of a run that failed stay


def test_only_the_whole_table_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["chaos", "--write", "--only", "F1"])

    with pytest.raises(SystemExit):
        command.main()
