"""Who judges the tests is judged, too: it must tell the mutants that matter from the others."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from queuepool.verbs.scripts import script
from tests.mutation import court, report, survivors
from tests.mutation.compiling import compiler
from tests.mutation.court import Judged, one_of_each_file, verdicts
from tests.mutation.files import changed, named, texts, users
from tests.mutation.judge import Known, Survey, Verdict
from tests.mutation.marks import Marks, marked, possible
from tests.mutation.mutants import Mutant, with_other_operators, without_lines
from tests.mutation.record import Record
from tests.mutation.runner import NotGreenError

JUDGES = ("tests/contract/test_leading.py",)
LOOP = b"if redis.call('HGET', leader, 'nonce') ~= ARGV[1] then return 0 end"


def compiles(source: bytes) -> bool:
    """Say yes to what has as many openers as ends, which is Lua enough for these tests."""
    words = source.replace(b"(", b" ").split()
    openers = sum(words.count(word) for word in (b"then", b"do", b"function"))
    return openers == words.count(b"end")


def test_each_line_is_dropped_or_the_statement_that_begins_on_it() -> None:
    source = b"#!lua\n-- a comment\nlocal a = 1\n\nif a then\n  b ( )\nend\nreturn a"

    made = without_lines("s", source, compiles)

    assert [(m.line, m.text) for m in made.mutants] == [
        (1, "#!lua"), (3, "local a = 1"), (5, "if a then"), (6, "b ( )"), (8, "return a"),
    ]  # fmt: skip
    assert made.mutants[0].source.startswith(b"#!lua flags=allow-oom\n")
    assert made.mutants[2].source == b"#!lua\n-- a comment\nlocal a = 1\n\n\n\n\nreturn a"
    assert made.not_compiling == 2
    assert [m.line for m in without_lines("parts/p", b"-- a comment\nb()", compiles).mutants] == [2]


def test_operators_are_changed_one_at_a_time() -> None:
    source = b"#!lua\nif a <= b + 1 then return end -- or not"

    made = with_other_operators("s", source, compiles)

    changed = [m.source.splitlines()[1] for m in made.mutants]
    assert changed == [
        b"if a < b + 1 then return end",
        b"if a <= b then return end",
    ]


def mutant(line: bytes, instead: bytes, name: str = "leader/resign") -> Mutant:
    source = texts()[name]
    assert source.count(line) == 1, "name a line that is still in the file"
    number = source[: source.index(line)].count(b"\n") + 1
    return Mutant(name, number, instead.decode(), source.replace(line, instead))


def test_a_change_of_a_part_is_in_every_script_that_uses_it() -> None:
    line, instead = b"local function wake(token)", b"local function wake(another)"
    in_part = mutant(line, instead, "parts/wake")

    scripts = changed({in_part.file: in_part.source})

    assert scripts.keys() == users()["parts/wake"] > {"enqueue", "replay"}
    for name, made in scripts.items():
        assert made.source == script(name).source.replace(line, instead) != script(name).source
    assert users()["leader/resign"] == {"resign"}


def test_files_are_named_alone_or_by_their_folder() -> None:
    assert named(["parts/wake", "leader/resign"]) == ["parts/wake", "leader/resign"]
    assert set(named(["parts/claim"])) == {n for n in texts() if n.startswith("parts/claim/")}
    assert named([]) == list(texts())
    with pytest.raises(LookupError, match="'claim'"):
        named(["claim"])


TOLD = mutant(b"-- Returns 1 if it led. O(1).", b"")
SILENT = mutant(b"redis.call('HSET', leader, 'nonce', '', 'expires', 0)", b"")
ENDLESS = mutant(LOOP, b"while true do end")
BROKEN = mutant(LOOP, b"")


def judged(*made: Mutant, last: Sequence[Mutant] = (), known: Known | None = None) -> list[Judged]:
    found = verdicts([made] if made else [], last=last, known=known, jobs=1, tests=JUDGES)
    return [one for one in found if not isinstance(one, Survey)]


def test_a_mutant_that_matters_dies_and_one_that_does_not_lives() -> None:
    found = dict(judged(TOLD, ENDLESS, SILENT, BROKEN))

    assert {m: v.killer is not None for m, v in found.items()} == {
        TOLD: False, ENDLESS: True, SILENT: True, BROKEN: True,
    }  # fmt: skip
    assert [v.out_of_time for v in found.values()].count(True) == found[ENDLESS].out_of_time == 1
    assert "resigns" in str(found[SILENT].killer)


@pytest.mark.slow
def test_mutants_judged_together_are_told_from_each_other() -> None:
    address = b"left > 0 and address or ''"
    broken = mutant(address, b"address", "leader/lead")
    as_good = mutant(b"-- Returns how", b"-- Tells how", "leader/record")

    found = dict(judged(last=[TOLD, broken, as_good, SILENT]))

    assert {m: v.killer is not None for m, v in found.items()} == {
        TOLD: False, broken: True, as_good: False, SILENT: True,
    }  # fmt: skip


def test_no_two_mutants_of_a_file_are_judged_together() -> None:
    made = [Mutant(file, n, "", b"") for n, file in enumerate("aabbc")]

    assert [m.line for m in one_of_each_file(made, 9)] == [0, 2, 4]
    assert [m.line for m in one_of_each_file(made, 2)] == [0, 2]


@pytest.fixture(scope="module")
def marks() -> Marks:
    """Every line that can have a mark."""
    with compiler() as compiles:
        return {file: possible(file, text, compiles.somewhere) for file, text in texts().items()}


@pytest.mark.slow
def test_scripts_with_all_marks_compile(marks: Marks) -> None:
    assert sum(map(len, marks.values())) > 2000
    with compiler() as compiles:
        assert all(compiles.each(made.source for made in marked(texts(), marks).values()))


def test_statements_have_marks_and_their_other_lines_have_not() -> None:
    text = b"if a then\n  f(1,\n    2)\nelse\n  -- no\n  g()\nend"

    def whole(_file: str, texts: Iterable[bytes]) -> list[bool]:
        return [b"    if not REACHED" not in text for text in texts]

    marks = possible("parts/p", text, whole)

    assert marks == {1, 2, 6}
    made = marked({"owner/s": b"#!lua\n-- uses: p\n", "parts/p": text}, {"parts/p": marks})["s"]
    assert made.source.startswith(b"#!lua\nlocal REACHED = {} if not REACHED['parts/p:1']")
    assert b"\nelse\n  -- no\n  if not REACHED['parts/p:6']" in made.source


@pytest.mark.slow
def test_what_is_on_record_of_tests_is_believed_until_they_change(
    tmp_path: Path, marks: Marks
) -> None:
    made = verdicts([[SILENT]], jobs=1, tests=JUDGES, known=Known(marks))
    found = [one for one in made if isinstance(one, Survey)]
    reached = {line for s in found for line in (s.reach or {}).get(SILENT.file, ())}
    record = Record(tmp_path / "record")

    def dies(**otherwise: Any) -> bool:
        for survey in found:
            record.learn(replace(survey, **otherwise))
        known = Known(marks, Record(tmp_path / "record").surveys)
        [(_, verdict)] = judged(SILENT, known=known)
        return verdict.killer is not None

    assert SILENT.line in reached
    assert dies()
    assert not dies(reach={SILENT.file: (1,)})
    assert dies(reach=None)
    assert dies(reach={SILENT.file: (1,)}, version="older")


def test_a_verdict_on_record_holds_until_the_code_of_a_script_changes(tmp_path: Path) -> None:
    path = tmp_path / "record"
    died = Verdict(SILENT.file, 99, SILENT.text, "a test", False, 0.5)
    Record(path).add(SILENT, died)

    record = Record(path)

    assert record.known(SILENT) == replace(died, line=SILENT.line) != died
    assert record.known(replace(SILENT, source=SILENT.source + b"\n  -- a comment")) is not None
    newer = replace(SILENT, source=SILENT.source.replace(b"return 1", b"return 2"))
    assert record.known(newer) is None
    assert record.before(newer) == died
    assert record.known(TOLD) is None
    assert Record(None).known(SILENT) is None


def test_tests_that_fail_on_whole_scripts_judge_nothing() -> None:
    unknown = ("tests/contract/no_such_test.py",)

    with pytest.raises(NotGreenError, match="collected"):
        list(verdicts([[BROKEN]], jobs=1, tests=unknown))


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_process_that_dies_begins_its_case_again_once(deaths: int) -> None:
    told = verdicts([[SILENT]], jobs=1, tests=("tests/contract/test_leading.py",))
    for _ in range(deaths):
        assert isinstance(next(told), Survey)
        [process] = multiprocessing.active_children()
        process.kill()
    if deaths > 1:
        with pytest.raises(NotGreenError, match=r"died .-9. judging .*resign"):
            list(told)
        return
    found = dict(one for one in told if not isinstance(one, Survey))
    assert found[SILENT].killer is not None


def verdict(line: int, text: str, killer: str | None) -> Verdict:
    return Verdict("s", line, text, killer, False, 0.5)


def test_a_case_is_handed_over_when_the_process_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Before, it tells what it surveyed; two that send at once would wait for each other.
    monkeypatch.setattr(court._Process, "_start", lambda _self: None)
    judge, case = court._Process(()), court._Case([BROKEN])
    judge.end_here, there = multiprocessing.Pipe()

    judge.take(case)
    assert not there.poll(0.1)
    judge.hear(court._Ready())

    assert there.recv() == case
    judge.hear(court._Ready())  # a process that began again, for the rest of its case
    assert there.recv() == case


def test_a_survivor_needs_a_reason_and_a_reason_a_survivor() -> None:
    found = [verdict(1, "a", "t"), verdict(2, "b", None), verdict(3, "b", None)]

    assert survivors.problems(found, [survivors.Reason("s", "b", "why", 2)], ["s"]) == []
    assert survivors.problems(found, [survivors.Reason("s", "b", "why")], ["s"]) == [
        "lives without a reason: s.lua: b (1)"
    ]
    wrong = [survivors.Reason("s", "b", "why", 2), survivors.Reason("s", "a", "why")]
    assert survivors.problems(found, wrong, ["s"]) == ["has a reason but does not live: s.lua: a"]
    assert survivors.problems(found[:1], wrong, ["another"]) == []


def test_the_report_counts_what_died() -> None:
    found = [verdict(1, "a", "t"), verdict(2, "b", None)]

    found += [replace(v, file=f"parts/f/{v.text}") for v in found]
    table = report.table(found, {"s": 3, "parts/f/a": 1, "parts/f/b": 1})

    assert "| `s` | 2 | 1 | 0 | 1 | 3 | 1 |" in table
    assert "| `parts/f/` | 2 | 1 | 0 | 1 | 2 | 1 |" in table
    assert "| **all** | 4 | 2 | 0 | 2 | 5 | 2 |" in table
    assert "| `s` | 2 | `b` | since |" in report.living(
        found, [survivors.Reason("s", "b", "since")]
    )
    assert report.killed_share(found) == 0.5


def test_every_reason_names_a_line_of_a_file() -> None:
    for reason in survivors.read():
        lines = [line.strip() for line in texts()[reason.file].decode().splitlines()]
        assert lines.count(reason.line) >= reason.count, reason
        assert reason.reason.endswith("."), reason
