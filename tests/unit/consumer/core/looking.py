"""What tests of looks share: answers to the calls of a look, as partitions would give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from consumer.core.remote_call import RemoteCall, ToPartition

OWNED = [0, 7]  # by the epoch 7, whose lease runs


class Hears(Protocol):
    """Whoever takes the answers."""

    def on_answer(self, call: RemoteCall, reply: Any) -> None: ...


def answer(to: Hears, calls: Sequence[RemoteCall], work: Mapping[int, Any]) -> list[int]:
    """Answer calls; work: partition -> work, the whole reply, an error, or None for no answer.

    Others have no work, and no owner. Returns which partitions were asked.
    """
    asked = [call.to.number for call in calls if isinstance(call.to, ToPartition)]
    for number, call in zip(asked, calls, strict=True):
        reply = work.get(number, 0)
        if reply is not None:
            to.on_answer(call, [reply] if isinstance(reply, int) else reply)
    return asked
