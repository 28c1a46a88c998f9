"""Each end is told to the home of its batch until that has noted it."""

from __future__ import annotations

import pytest

from consumer.core.remote_call import RemoteCall, ToSlot
from consumer.core.state import State
from consumer.core.steps.tell import LOOK_EVERY_S, Tell
from consumer.core.turn import Turn
from consumer.settings import ConsumerSettings
from queuepool.errors import UnavailableError
from queuepool.verbs.flows import telling
from queuepool.verbs.owner import verbs as own

ONE, TWO = "AAbbbbbbbbbbbb", "BBbbbbbbbbbbbb-video"
LIFE = own.Ownership(0, "n", 1)


class World:
    """The step, and the ends of its partition."""

    def __init__(self) -> None:
        acquired = own.Acquired(LIFE, 0, 0, None, None, "0-0")
        self.state = State(acquired, ConsumerSettings(), workers=1, now_s=0.0)
        self.tell, self.now_s = Tell(self.state), 0.0
        self.untold: dict[bytes, str] = {}

    def put(self, *job_ids: str) -> None:
        for job_id in job_ids:
            self.untold[b"%d-0" % (len(self.untold) + 1)] = job_id
        self.state.untold_s = self.now_s

    def turn(self, tended: telling.Tended = telling.Tended(0, 0, 0, None)) -> list[RemoteCall]:  # noqa: B008 - frozen
        """Take a turn; returns what is to be told."""
        turn = Turn(self.now_s)
        turn.add(self.tell)
        turn.replied_s = self.now_s
        for verb in turn.verbs:
            if verb.script == "tend_batches":
                self.tell.on_reply(tended, turn)
                continue
            after, told = verb.args[2], verb.args[5:]
            for entry in told:
                assert isinstance(entry, bytes)
                self.untold.pop(entry, None)
            notes = [
                telling.Note(entry, job_id, b"d", b"0" * 11, b"1")
                for entry, job_id in self.untold.items()
                if after == b"-" or entry > bytes(after)  # type: ignore[arg-type]
            ]
            self.tell.on_reply(telling.Untold(len(self.untold), tuple(notes)), turn)
        return self.tell.take_calls()

    def answer(self, call: RemoteCall, *, lost: bool = False) -> None:
        self.tell.on_answer(call, UnavailableError("away") if lost else 1, self.now_s)


@pytest.fixture
def world() -> World:
    return World()


def test_ends_go_to_the_homes_of_their_batches(world: World) -> None:
    world.put(f"CC{ONE}~0", f"CC{TWO}~7", f"CC{ONE}~1")

    one, two = world.turn()

    ends = [ONE, 0, b"d", b"0" * 11, b"1", ONE, 1, b"d", b"0" * 11, b"1"]
    assert list(one.verb.args) == ["", *ends]
    assert (one.to, one.pool) == (ToSlot(0), "default")
    assert (two.to, two.pool) == (ToSlot(65), "video")
    assert (one.entries, two.entries) == ((b"1-0", b"3-0"), (b"2-0",))


def test_an_entry_is_deleted_once_it_was_noted(world: World) -> None:
    world.put(f"CC{ONE}~0")
    [call] = world.turn()
    assert world.turn() == []
    assert world.untold

    world.answer(call)
    world.turn()

    assert not world.untold


def test_what_gets_no_answer_is_passed_over_and_told_again_after_a_pause(world: World) -> None:
    world.put(f"CC{ONE}~0", f"CC{TWO}~0")
    one, two = world.turn()
    world.answer(one, lost=True)
    assert world.tell.due_s(world.now_s) > world.now_s  # the other one is still on its way
    world.answer(two)
    world.put(f"CC{TWO}~1")

    [later] = world.turn()
    assert later.entries[0] in (b"2-0", b"3-0")
    world.answer(later)
    assert world.turn() == []
    assert next(iter(world.untold.values())) == f"CC{ONE}~0"
    assert world.now_s < world.tell.due_s(world.now_s) < world.now_s + 1

    world.now_s = world.tell.due_s(world.now_s)
    [again] = world.turn()
    assert again.entries == one.entries


@pytest.mark.parametrize("answered", [True, False])
def test_a_later_end_does_not_overtake_one_that_was_not_noted(world: World, answered: bool) -> None:
    world.put(f"CC{ONE}~0")
    [died] = world.turn()
    if answered:
        world.answer(died, lost=True)
    else:
        world.now_s = world.tell.due_s(world.now_s)
    world.put(f"CC{ONE}~0")  # it came back

    told = world.turn()
    while not told:  # to the end of the pass
        world.now_s = max(world.now_s, world.tell.due_s(world.now_s))
        told = world.turn()

    assert [call.entries for call in told] == [(b"1-0", b"2-0")]


def test_the_pause_grows_while_a_home_is_away(world: World) -> None:
    world.put(f"CC{ONE}~0")
    waits = []
    for _ in range(8):
        [call] = world.turn()
        world.answer(call, lost=True)
        assert world.turn() == []
        waits.append(world.state.untold_s - world.now_s)
        world.now_s = world.state.untold_s

    assert waits[0] < 1
    assert waits == sorted(waits)
    assert waits[-1] == 5.0


def test_a_call_that_nobody_answers_is_given_up(world: World) -> None:
    world.put(f"CC{ONE}~0")
    [call] = world.turn()
    again: list[RemoteCall] = []
    while not again:
        world.now_s = world.tell.due_s(world.now_s)
        again = world.turn()
    world.answer(call)  # much later

    assert [c.entries for c in again] == [call.entries]


def test_what_is_not_an_end_of_a_batch_is_dropped(world: World) -> None:
    world.put("nobody", f"CC{ONE}~0")
    [call] = world.turn()
    world.answer(call)
    world.turn()

    assert call.entries == (b"2-0",)
    assert not world.untold


def test_without_work_it_looks_now_and_then(world: World) -> None:
    assert world.turn() == []

    assert world.tell.due_s(0.0) == LOOK_EVERY_S


def test_a_batch_is_looked_at_when_it_is_due(world: World) -> None:
    world.turn(telling.Tended(0, 0, 0, 2000))

    assert world.tell.due_s(0.0) == 2.0


def test_what_was_let_go_is_promoted_in_the_next_turn(world: World) -> None:
    world.state.promote_s = 99.0
    world.turn(telling.Tended(1, 0, 0, 60_000))

    assert world.state.promote_s == 0.0


def test_a_continuation_that_died_may_be_a_job_of_another_batch(world: World) -> None:
    world.turn(telling.Tended(0, 1, 0, 60_000))

    assert world.tell.due_s(0.0) == 0.0
