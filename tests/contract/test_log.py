"""The log, in memory and on real servers: actions and events, bounded per kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from queuepool.models.log import KEPT, LogEntry, LogKind
from queuepool.verbs import Verb
from queuepool.verbs.log import verbs
from tests.contract.world import World
from tests.waiting import wait_until

T = TypeVar("T")
HELD = LogEntry(
    kind=LogKind.ACT, what="hold", subject="group album-7", who="ada@desk", via="command",
    why="they asked", outcome="done",
)  # fmt: skip


def ask(world: World, verb: Verb[T]) -> T:
    """Run a verb on what the system shares."""
    return verb.read(world.partition.server.run(world.system, [verb])[0])


def note(world: World, *entries: LogEntry) -> int:
    return ask(world, verbs.write_log(entries))


def pass_ms(world: World, ms: int) -> None:
    """Let time pass by the server's clock."""
    until = world.partition.observe().observed_ms + ms
    world.advance((ms + 1) / 1000)
    wait_until(lambda: world.partition.observe().observed_ms >= until, message="time passes")


def whats(entries: list[LogEntry]) -> list[str]:
    return [entry.what for entry in entries]


def test_what_is_written_is_read_with_the_servers_time(world: World) -> None:
    assert ask(world, verbs.read_log()) == []

    assert note(world, HELD) == 1

    (found,) = ask(world, verbs.read_log())
    assert 0 <= world.partition.observe().observed_ms - found.at_ms < 10_000
    assert found == LogEntry(
        kind=HELD.kind, what="hold", subject="group album-7", who="ada@desk", via="command",
        why="they asked", outcome="done", at_ms=found.at_ms, id=found.id,
    )  # fmt: skip


def test_kinds_are_read_together_in_the_order_of_their_times_or_by_themselves(
    world: World,
) -> None:
    for number, kind in enumerate([LogKind.SCALING, LogKind.ACT, LogKind.SCALING]):
        note(world, LogEntry(kind=kind, what=f"n{number}"))
        pass_ms(world, 1)

    assert whats(ask(world, verbs.read_log())) == ["n0", "n1", "n2"]
    assert whats(ask(world, verbs.read_log([LogKind.ACT]))) == ["n1"]
    assert whats(ask(world, verbs.read_log(most=2))) == ["n1", "n2"]


def test_what_is_read_lies_between_two_moments(world: World) -> None:
    note(world, LogEntry(kind=LogKind.ACT, what="first"))
    pass_ms(world, 1)
    note(world, LogEntry(kind=LogKind.ACT, what="second"))
    first, second = ask(world, verbs.read_log())

    assert ask(world, verbs.read_log(from_ms=second.at_ms)) == [second]
    assert ask(world, verbs.read_log(until_ms=first.at_ms)) == [first]
    assert ask(world, verbs.read_log(from_ms=first.at_ms, until_ms=second.at_ms)) == [first, second]


def test_a_kind_keeps_its_newest_and_takes_no_room_of_another(world: World) -> None:
    note(world, HELD)
    for _ in range(5):
        note(world, *[LogEntry(kind=LogKind.SCALING, what="scale")] * (KEPT // 4))

    kept = ask(world, Verb("read_log", [0, "+", 10 * KEPT, 10**12, "scaling"], len)) - 1
    assert KEPT <= kept < KEPT + 200
    assert whats(ask(world, verbs.read_log([LogKind.ACT]))) == ["hold"]


def test_what_is_too_old_is_not_read_and_leaves_with_the_next_entry(world: World) -> None:
    note(world, HELD)
    young = 5  # ms
    pass_ms(world, 2 * young)

    def read(age_ms: int) -> list[LogEntry]:
        verb = verbs.read_log([LogKind.ACT])
        return ask(world, Verb("read_log", [0, "+", 9, age_ms, "act"], verb.parse))

    assert whats(read(young)) == []
    assert whats(read(10**9)) == ["hold"]
    ask(world, Verb("write_log", [KEPT, young, "act", verbs.encode(HELD)], int))
    assert len(read(10**9)) == 1


def test_text_is_one_line_of_visible_characters_and_of_bounded_length(world: World) -> None:
    nasty = "\x1b[31m\n\u202e" + "ü" * 9_999 + '"\\'
    note(world, replace(HELD, **dict.fromkeys(verbs.MAX_BYTES, nasty)))  # type: ignore[arg-type]  # they are texts

    (found,) = ask(world, verbs.read_log())

    for name, most in verbs.MAX_BYTES.items():
        text = getattr(found, name)
        assert text.startswith("\\x1b[31m \\u202e")
        assert text.isprintable()
        assert len(text.encode()) <= most
    assert len(verbs.encode(found)) < 2048


def test_what_another_program_wrote_hides_no_other_entry(world: World) -> None:
    texts = [b"", b"[]", b'{"what":1}', b"\xff", b'{"what":"\\ud800"}', b"{" * 900, b"x" * 5_000]
    for text in (*texts, verbs.encode(HELD), b'{"what":"later","and":{"more":1}}'):
        ask(world, Verb("write_log", [KEPT, 10**9, "act", text], int))

    found = whats(ask(world, verbs.read_log()))

    assert found[-2:] == ["hold", "later"]
    assert len(found) == len(texts) + 2
    assert set(found[:-2]) <= {"unreadable", ""} | {"\\ud800"}
