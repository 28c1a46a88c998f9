"""Who judges the tests is judged, too: it must tell the mutants that matter from the others."""

from __future__ import annotations

import pytest

from queuepool.verbs.scripts import script
from tests.mutation import report, survivors
from tests.mutation.court import verdicts
from tests.mutation.judge import NotGreenError, Verdict
from tests.mutation.mutants import Mutant, with_other_operators, without_lines

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


def test_operators_are_changed_one_at_a_time() -> None:
    source = b"#!lua\nif a <= b + 1 then return end -- or not"

    made = with_other_operators("s", source, compiles)

    changed = [m.source.splitlines()[1] for m in made.mutants]
    assert changed == [
        b"if a < b + 1 then return end",
        b"if a <= b then return end",
    ]


def mutant(line: bytes, instead: bytes, name: str = "resign") -> Mutant:
    source = script(name).source
    assert source.count(line) == 1, "name a line that is still in the script"
    return Mutant(name, 0, instead.decode(), source.replace(line, instead))


def test_a_mutant_that_matters_dies_and_one_that_does_not_lives() -> None:
    told = mutant(b"-- Returns 1 if it led. O(1).", b"")
    silent = mutant(b"redis.call('HSET', leader, 'nonce', '', 'expires', 0)", b"")
    endless = mutant(LOOP, b"while true do end")
    broken_after = mutant(LOOP, b"")

    found = list(verdicts([[told, endless, silent, broken_after]], jobs=1, tests=JUDGES))

    killers = [v.killer is not None for v in found]
    assert killers == [False, True, True, True]
    assert [v.out_of_time for v in found] == [False, True, False, False]
    assert "resigns" in str(found[2].killer)


def test_tests_that_fail_on_whole_scripts_judge_nothing() -> None:
    unknown = ("tests/contract/no_such_test.py",)

    with pytest.raises(NotGreenError, match="collected"):
        list(verdicts([[mutant(LOOP, b"")]], jobs=1, tests=unknown))


def verdict(line: int, text: str, killer: str | None) -> Verdict:
    return Verdict("s", line, text, killer, False, 0.5)


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

    assert "| `s` | 2 | 1 | 0 | 1 | 3 | 1 |" in report.table(found, {"s": 3})
    assert "| `s` | 2 | `b` | since |" in report.living(
        found, [survivors.Reason("s", "b", "since")]
    )
    assert report.killed_share(found) == 0.5


def test_every_reason_names_a_line_of_a_script() -> None:
    for reason in survivors.read():
        lines = [line.strip() for line in script(reason.script).source.decode().splitlines()]
        assert lines.count(reason.line) >= reason.count, reason
        assert reason.reason.endswith("."), reason
