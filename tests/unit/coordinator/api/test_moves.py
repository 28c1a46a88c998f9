"""The messages of a move say what `queuepool moves` says, at every step of it."""

from __future__ import annotations

import pytest

from coordinator.api.inspecting import Inspection
from queuepool.cli.display.moves import describe
from queuepool.errors import UnavailableError
from queuepool.rpc.moves import messages_of
from queuepool.testing import MemoryPool
from tests.unit.coordinator.loop.moving import KEYS, Queue

SAID = {"stage": "stage", "before": "before", "to": "to", "reason": "reason",
        "slots_moved": "slots_moved", "slots": "slots"}  # fmt: skip


@pytest.mark.parametrize("aborted", [False, True])
def test_each_step_is_shown_as_the_command_shows_it(aborted: bool) -> None:
    queue, closed, stages = Queue(), list[int](), list[str]()
    queue.fill(1, KEYS[:4])
    looks = Inspection(queue.ops)
    assert messages_of(looks.moves()) == []
    queue.ask(3)

    while not stages or stages[-1] not in {"ended", "aborted"}:
        facts = looks.moves()
        [shown] = messages_of(facts)
        said = describe(facts)
        assert {name: getattr(shown, field) for name, field in SAID.items()} == {
            "slots_moved": 0, "slots": 0, **{name: said[name] for name in SAID if name in said},
        }  # fmt: skip
        assert shown.slots_closed == said.get("slots_closed", 0)
        assert shown.HasField("source") == shown.HasField("dest") == bool(shown.slots_closed)
        closed.append(shown.slots_closed)
        stages.append(shown.stage)
        if aborted and shown.slots_closed and shown.stage == "moving":
            queue.abort()
        queue.look()

    assert stages[0] == "asked"
    assert any(closed)
    assert ("aborting" in stages, stages[-1]) == (aborted, "aborted" if aborted else "ended")


def test_without_a_route_record_nothing_is_said() -> None:
    with pytest.raises(UnavailableError, match="try again"):
        Inspection(MemoryPool(2)).moves()
