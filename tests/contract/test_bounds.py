"""What the script of enqueue refuses, whatever client sends it: nothing is written."""

from typing import Any

import pytest

from queuepool.errors import InvalidInputError, PayloadTooLargeError
from queuepool.models import JobState
from queuepool.protocol import codec
from queuepool.routing.slots import MAX_GROUP_BYTES
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.scripts import script
from tests.contract import world as w
from tests.contract.world import World

LARGEST = b"x" * (codec.MAX_TAIL_BYTES - len(codec.encode_tail(7, b"g")))


def send(world: World, *runs: Any, jobs: int = 1, size_bytes: int = 100) -> Any:
    verb = produce.enqueue(list(runs), jobs=jobs, size_bytes=size_bytes, **w.LIMITS)
    return world.partition.run(verb)


def run_of(*, job_id: bytes = b"a", group: bytes = b"g", body: bytes | None = None) -> list[Any]:
    return [2, group, 0, 1, job_id, w.tail(group) if body is None else body]


def test_an_id_a_group_and_a_body_may_be_as_large_as_the_protocol_says(world: World) -> None:
    ids = [b"i" * codec.MAX_ID_BYTES, b"b"]
    group = b"g" * MAX_GROUP_BYTES

    size = 13 + len(w.tail(group))
    accepted = send(world, *run_of(job_id=ids[0], group=group), size_bytes=size)
    body = codec.encode_tail(7, b"g") + LARGEST
    accepted += send(world, *run_of(job_id=ids[1], body=body), size_bytes=13 + len(body))

    assert accepted == b"11"
    assert {world.partition.status(i.decode()).state for i in ids} == {JobState.READY}


@pytest.mark.parametrize(
    "wish",
    [
        (b"x", "e", b"key", 0),
        (1, "q", b"key", 0),
        (1, "e", b"key", -1),
        (1, "e", b"key", b"soon"),
        (1, "e", b"key", 10**16),
    ],
    ids=["place", "until", "negative", "no number", "too late"],
)
def test_a_wish_that_cannot_be_read_is_refused_with_its_job(
    server_world: World, wish: tuple[Any, ...]
) -> None:
    verb = produce.enqueue(run_of(), wish, jobs=1, size_bytes=100, **w.LIMITS)

    with pytest.raises(InvalidInputError, match="nothing was enqueued"):
        server_world.partition.run(verb)

    assert server_world.partition.observe().jobs == 0


@pytest.mark.parametrize(
    "run",
    [
        run_of(job_id=b"i" * (codec.MAX_ID_BYTES + 1)),
        run_of(group=b"g" * (MAX_GROUP_BYTES + 1)),
        run_of(group=b""),
        [2, b"g", 0, 2001, *[b"i", w.tail(b"g")] * 2001],
        [7, *run_of()[1:]],
        [2, b"g", 0, 2, b"a", w.tail(b"g")],
        [2, b"g", 0, 0, b"a", w.tail(b"g")],
    ],
    ids=["id", "group", "no group", "jobs", "tier", "cut short", "no jobs"],
)
def test_what_is_beyond_a_bound_is_refused_with_all_beside_it(world: World, run: list[Any]) -> None:
    good = run_of(job_id=b"good")

    with pytest.raises(InvalidInputError, match="nothing was enqueued"):
        send(world, *good, *run)

    assert world.partition.observe().jobs == 0
    assert not world.counters()


@pytest.mark.parametrize("run", [
    [2, b"g", "nan", 1, b"a", w.tail(b"g")], [2, b"g", -1, 1, b"a", w.tail(b"g")],
    [2, b"g", "x", 1, b"a", w.tail(b"g")], [2, b"g", 1e300, 1, b"a", w.tail(b"g")],
    [2, b"g", 0, "x", b"a", w.tail(b"g")], [2, b"g", 0, 1.5, b"a", w.tail(b"g")],
    ["22", b"g", 0, 1, b"a", w.tail(b"g")],
])  # fmt: skip
def test_a_run_that_cannot_be_read_is_refused(server_world: World, run: list[Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"rejected .* as invalid"):
        send(server_world, *run)

    assert server_world.partition.observe().jobs == 0


def test_a_body_beyond_the_bound_is_refused_with_its_size(world: World) -> None:
    body = codec.encode_tail(7, b"g") + LARGEST + b"x"

    with pytest.raises(PayloadTooLargeError) as refused:
        send(world, *run_of(job_id=b"good"), *run_of(body=body), jobs=2)

    assert (refused.value.size, refused.value.limit) == (len(body), codec.MAX_PAYLOAD_BYTES)
    assert world.partition.observe().jobs == 0


def test_the_script_has_the_bounds_of_the_codec() -> None:
    source = script("enqueue").source.decode()

    for bound in (codec.MAX_TAIL_BYTES, codec.MAX_ID_BYTES, MAX_GROUP_BYTES):
        assert f"> {bound} then" in source
