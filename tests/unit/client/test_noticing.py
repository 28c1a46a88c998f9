"""How often a call that adds jobs to a batch looks whether that was cancelled."""

from __future__ import annotations

import pytest

from queuepool.client.flows.noticing import noticing
from queuepool.errors import MovedError, UnavailableError
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig

CONFIG = PoolConfig(topology=single("redis://localhost", 4))
OPEN = [0, [b"state", b"open"], [], b"0"]


@pytest.mark.parametrize(
    ("sent", "looks"),
    [([1] * 11, [0, 5, 10]), ([32] * 3, [0, 1, 2]), ([3] * 6, [0, 1, 3, 5]), ([4, 1, 1], [0, 2])],
)
def test_it_looks_after_the_first_and_each_fifth_chunk(sent: list[int], looks: list[int]) -> None:
    steps_of, looked = noticing(CONFIG, "AAbbbbbbbbbbbb"), []
    for n, chunks in enumerate(sent):
        steps = steps_of(chunks)
        if next(steps, None) is not None:
            looked.append(n)
            with pytest.raises(StopIteration):
                steps.send([OPEN])

    assert looked == looks


@pytest.mark.parametrize("reply", [UnavailableError("away"), [MovedError(7)]])
def test_a_home_that_does_not_answer_is_not_asked_again(reply: object) -> None:
    steps_of = noticing(CONFIG, "AAbbbbbbbbbbbb")
    steps = steps_of(1)
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send(reply)

    assert not end.value.value
    with pytest.raises(StopIteration):
        next(steps_of(100))
