"""Options of other libraries that a job has here as well, or that keep it there.

Fields and keys are as RQ 3.0, BullMQ 6.7 and kombu 5.7 store them.
"""

import json
from typing import Any

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.cli.imports.celery import entries
from queuepool.cli.imports.foreign import Foreign, RefusedError
from tests.integration.cli.importing import (
    RECORDED_S,
    Elsewhere,
    by_same_names,
    celery,
    moved,
)
from tests.shell import Shell

NOWHERE: Any = None
AT = "2026-11-23T11:52:40.000000Z"  # RECORDED_S
RQ = ("import", "rq", "--queue", "mail", "--same-names", "--key", "moved", "--json", "--move")
BULLMQ = ("import", "bullmq", *RQ[2:])


def rq(elsewhere: Elsewhere, job_id: str, **more: Any) -> None:
    stored = {"data": '["shop.t", null, [], {}]', "created_at": AT, "enqueued_at": AT}
    elsewhere.redis.hset(f"rq:job:{job_id}", mapping=stored | more)
    elsewhere.redis.rpush("rq:queue:mail", job_id)


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ({"repeats_left": "3", "repeat_intervals": "[5]"}, "repeating"),
        ({"success_callback_name": "shop.done", "success_callback_timeout": "60"}, "callback"),
        ({"failure_callback_name": "shop.failed"}, "callback"),
        ({"stopped_callback_name": "shop.stopped"}, "callback"),
        ({"ttl": "50", "enqueued_at": "2026-11-23T11:51:00.000000Z"}, "expired"),
    ],
)
def test_a_job_of_rq_with_options_that_no_job_has_here_stays_there(
    stored: dict[str, str], reason: str, shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    rq(elsewhere, "a", **stored)

    assert shell.run(*RQ) == Exit.FAILED

    assert shell.lines[0]["refused"] == {reason: 1}
    assert elsewhere.redis.lrange("rq:queue:mail", 0, -1) == [b"a"]
    assert moved(pool) == {}


def test_a_job_of_rq_without_contents_has_expired(shell: Shell, elsewhere: Elsewhere) -> None:
    elsewhere.redis.rpush("rq:queue:mail", "a")

    assert shell.run(*RQ[:-1]) == Exit.OK

    assert shell.lines[0]["refused"] == {"expired": 1}


def test_the_time_to_live_of_a_job_of_rq_is_kept(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    rq(elsewhere, "a", ttl="3600")
    rq(elsewhere, "b")

    assert shell.run(*RQ) == Exit.OK, shell.err

    place = pool.group("moved").partition
    server: Any = place.server
    (limited,) = server.ask("HKEYS", place.key + b":ex")
    assert limited.split(b":")[1] == b"a"


def test_a_job_of_bullmq_that_had_children_stays_there(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    there = elsewhere.redis
    there.hset("bull:mail:p", mapping={"name": "t", "data": "{}", "timestamp": 1})
    there.hset("bull:mail:p:processed", "bull:kids:1", '{"r":1}')
    there.lpush("bull:mail:wait", "p")

    assert shell.run(*BULLMQ) == Exit.FAILED

    assert shell.lines[0]["refused"] == {"linked": 1}
    assert there.hgetall("bull:mail:p:processed") == {b"bull:kids:1": b'{"r":1}'}
    assert moved(pool) == {}


def test_a_job_of_bullmq_that_was_moved_keeps_no_others_out(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    there = elsewhere.redis
    for job_id, name in (("1", "mine"), ("2", "another's"), ("3", "list")):
        stored = {"name": "t", "data": "{}", "timestamp": job_id, "deid": name}
        there.hset(f"bull:mail:{job_id}", mapping=stored)
        there.lpush("bull:mail:wait", job_id)
    there.psetex("bull:mail:de:mine", 60_000, "1")
    there.set("bull:mail:de:another's", "9")
    there.rpush("bull:mail:de:list", "3")

    assert shell.run(*BULLMQ) == Exit.OK, shell.err

    assert sorted(moved(pool)) == ["1", "2", "3"]
    assert sorted(elsewhere.contents()) == [b"bull:mail:de:another's", b"bull:mail:de:list"]


def typed(kind: str, value: Any) -> dict[str, Any]:
    return {"__type__": kind, "__value__": value}


def read(arguments: dict[str, Any]) -> Foreign | RefusedError:
    message = celery(1, json.dumps([[], arguments, {}]))
    (entry,) = entries(NOWHERE, "celery", NOWHERE, [(message, 0)])
    return entry.found


def test_typed_arguments_of_celery_are_what_typed_tasks_read() -> None:
    found = read(
        {
            "at": typed("datetime", "2026-01-02T03:04:05"),
            "lines": [{"price": typed("decimal", "1.50")}, typed("date", "2026-01-02")],
            "of": typed("uuid", {"hex": "00000000000000000000000000000005"}),
            "raw": typed("bytes", "abc"),
            "more": typed("base64", "/w=="),
            "else": {"__type__": "a field", "__value__": 1, "other": 2},
        }
    )

    assert isinstance(found, Foreign)
    assert found.kwargs == {
        "at": "2026-01-02T03:04:05",
        "lines": [{"price": "1.50"}, "2026-01-02"],
        "of": "00000000-0000-0000-0000-000000000005",
        "raw": b"abc",
        "more": b"\xff",
        "else": {"__type__": "a field", "__value__": 1, "other": 2},
    }


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (typed("money", "1"), "invalid"),
        (typed("uuid", "5"), "damaged"),
        (typed("uuid", {"hex": "5"}), "damaged"),
        (typed("base64", "?"), "damaged"),
        (typed("bytes", 1), "damaged"),
        ({"__type__": [], "__value__": 1}, "invalid"),
    ],
)
def test_typed_arguments_that_cannot_be_read_are_refused(value: Any, reason: str) -> None:
    found = read({"a": value})

    assert isinstance(found, RefusedError)
    assert found.reason.name.lower() == reason


@pytest.mark.parametrize("form", ["application/x-msgpack", "application/x-yaml"])
def test_messages_of_another_serializer_are_told_from_damaged_ones(form: str) -> None:
    message = json.loads(celery(1)) | {"content-type": form}
    (entry,) = entries(NOWHERE, "celery", NOWHERE, [(json.dumps(message).encode(), 0)])

    with pytest.raises(RefusedError) as refused:
        by_same_names().job_of(entry, RECORDED_S * 1000)

    assert (refused.value.reason.name, refused.value.detail) == ("SERIALIZED", form)
