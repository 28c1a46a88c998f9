"""An id that the library made says in which slot its job is; no other id is read that way."""

from __future__ import annotations

import os
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool import InvalidInputError
from queuepool.client.producer import Producer
from queuepool.models import JobId, JobState, JobStatus
from queuepool.protocol import ids
from queuepool.routing.finding import is_found, parts, the_only_one
from queuepool.routing.slots import SLOTS, partition_of, slot_of
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Job
from queuepool.tasks.registry import Registry

SLOT = st.integers(0, SLOTS - 1)


@given(SLOT, st.integers(0, 201), st.randoms(use_true_random=False))
def test_an_id_has_fourteen_safe_characters_and_names_its_slot(
    slot: int, count: int, random: Random
) -> None:
    hint = ids.hint_of(slot)
    together = ids.new_ids(count, random.randbytes((21 * count + 1) // 2), hint)
    one_by_one = [hint + end for end in ids.new_endings(count, random.randbytes(9 * count))]

    assert (len(together), len(one_by_one)) == (count, count)
    for made in (job_id.decode() for job_id in (*together, *one_by_one)):
        assert re.fullmatch(r"[A-Za-z0-9_.]{14}", made)
        assert ids.hinted_slot(made) == slot


@pytest.mark.thorough
def test_ids_keep_all_the_entropy_given() -> None:
    hint = ids.hint_of(7)
    made = ids.new_ids(200_000, os.urandom(2_100_000), hint)
    made += [hint + end for end in ids.new_endings(200_000, os.urandom(1_800_000))]

    assert len(set(made)) == 400_000
    assert {len(set(place)) for place in zip(*made, strict=True)} == {1, 64}
    assert len({ids.hint_of(slot) for slot in range(SLOTS)}) == SLOTS


@pytest.mark.parametrize("job_id", ["", "a", "greet-alan-123", "x" * 13, "x" * 15, "é" * 14])
def test_other_ids_name_no_slot(job_id: str) -> None:
    assert ids.hinted_slot(job_id) is None


@pytest.mark.parametrize("how", ["single", "keyed", "function", "mixed"])
def test_every_job_of_a_call_gets_an_id_of_its_own_slot(how: str) -> None:
    keys = [f"import-{n}" for n in range(300)]
    items: list[Any] = [Job({"k": k}, partition_key=k) for k in keys]
    if how == "mixed":  # jobs with keys of their own among those of the call
        items[::2], keys[::2] = [{}] * 150, ["all"] * 150
    if how == "function":
        items = [{"k": k} for k in keys]
    common: Any = {"function": lambda payload: payload["k"], "mixed": "all"}.get(how)
    producer = Producer(PoolConfig(topology=single("redis://h/0", 8)), Registry())
    defaults = producer.defaults("t", tier=None, delay_s=None, max_attempts=None, timeout_s=None)

    made: dict[int, str] = {}
    if how == "single":
        for n, key in enumerate(keys):
            made[n] = producer.single(defaults, {}, key, None).ids[0].decode()
    else:
        for chunk in producer.chunks(defaults, items, common):
            numbered = zip(chunk.positions, chunk.ids, strict=True)
            made |= {position: job_id.decode() for position, job_id in numbered}

    assert len(set(made.values())) == len(keys)
    assert [ids.hinted_slot(made[n]) for n in range(300)] == [slot_of(k.encode()) for k in keys]


@given(SLOT, st.integers(1, 4096), st.integers(1, 4096))
def test_an_id_leads_to_its_partition_whatever_their_number_was(
    slot: int, before: int, after: int
) -> None:
    job_id = (ids.hint_of(slot) + b"x" * 12).decode()  # made when there were `before` partitions

    hinted = ids.hinted_slot(job_id)

    assert hinted is not None
    assert partition_of(hinted, before) == partition_of(slot, before)
    assert partition_of(hinted, after) == partition_of(slot, after)


def status(partition: int, state: JobState, slot: int | None = None) -> JobStatus:
    return JobStatus(job_id=JobId("a"), state=state, partition=partition, slot=slot)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (status(3, JobState.READY, 7), True),
        (status(3, JobState.READY, 8), False),  # an id of the user's own, of another slot
        (status(3, JobState.DONE), True),
        (status(3, JobState.UNKNOWN), False),
    ],
)
def test_a_hint_is_checked_against_the_job(answer: JobStatus, found: bool) -> None:
    assert is_found(answer, 7) is found


def test_an_id_in_two_partitions_needs_its_key() -> None:
    answers = [status(n, JobState.UNKNOWN) for n in range(5)]
    assert the_only_one(answers).state is JobState.UNKNOWN

    answers[3] = status(3, JobState.DELAYED)
    assert the_only_one(answers).partition == 3

    answers[1] = status(1, JobState.DONE)
    with pytest.raises(InvalidInputError, match=r"2 partitions \(1, 3\).*--key"):
        the_only_one(answers)


def test_parts_hold_everything_once() -> None:
    assert list(parts(range(7), 3)) == [range(3), range(3, 6), range(6, 7)]
