"""Jobs beyond what a job can have here: refused, counted and named; the others are moved."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.errors import InvalidInputError
from queuepool.protocol import codec
from tests.integration.cli.importing import MOVE, RECORDED_S, Elsewhere, celery, moved
from tests.shell import Shell

LIMIT = 256 * 1024  # bytes of an envelope, by default
LONG = "shop." + "t" * 199
AT = "2026-11-23T11:52:40.000000Z"


def fitting(key: str = "moved") -> str:
    """Return an argument whose job fits as long as it has no options."""
    envelope = codec.encode_envelope("t", {"a": "", "key": key}, codec.NO_OPTIONS, limit=LIMIT)
    return "x" * (LIMIT - len(envelope))


def with_a_long_name(there: Any) -> None:
    there.lpush("celery", celery(1), celery(2, task=LONG), celery(3))


def with_a_timeout(there: Any) -> None:
    body = json.dumps([[], {"a": fitting(), "key": "moved"}, {}])
    there.lpush("celery", celery(1), celery(2, body, timelimit=[300, None]), celery(3))


def with_a_long_key(there: Any) -> None:
    key = "k" * 100
    body = json.dumps([[], {"a": fitting(key), "key": key}, {}])
    there.lpush("celery", celery(1), celery(2, body), celery(3))


def of_rq(there: Any) -> None:
    for job_id, argument in (("n1", "x"), ("n2", fitting()), ("n3", "x")):
        call = json.dumps(["t", None, [], {"a": argument, "key": "moved"}])
        stored = {"data": call, "created_at": AT, "timeout": "180", "retries_left": "3"}
        there.hset(f"rq:job:{job_id}", mapping=stored)
        there.rpush("rq:queue:default", job_id)


def of_bullmq(there: Any) -> None:
    for job_id, argument in (("n1", "x"), ("n2", fitting()), ("n3", "x")):
        data = json.dumps({"a": argument, "key": "moved"})
        stored = {"name": "t", "data": data, "opts": '{"attempts": 5}', "timestamp": 1}
        there.hset(f"bull:default:{job_id}", mapping=stored)
        there.lpush("bull:default:wait", job_id)


@pytest.mark.parametrize(
    ("form", "add", "said"),
    [
        ("celery", with_a_long_name, "use 1 to 128 bytes of UTF-8"),
        ("celery", with_a_timeout, "over the limit of 262,144"),
        ("celery", with_a_long_key, "over the limit of 262,144"),
        ("rq", of_rq, "over the limit of 262,144"),
        ("bullmq", of_bullmq, "over the limit of 262,144"),
    ],
)
def test_a_job_that_enqueue_would_refuse_stays_there_and_the_others_are_moved(
    form: str, add: Callable[[Any], None], said: str,
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere,
) -> None:  # fmt: skip
    add(elsewhere.redis)
    words = ("import", form, "--same-names", "--key", "moved", "--key-argument", "key")

    assert shell.run(*words) == Exit.OK, shell.err
    assert "3 found, 2 can be moved, 0 delayed, 1 refused" in shell.out
    assert said in shell.out

    for there in (3, 1):  # a second run finds what stayed, and ends as well
        assert shell.run(*words, "--move", "--json") == Exit.FAILED, shell.err
        report = shell.lines[0]
        assert (report["found"], report["moved"]) == (there, there - 1)
        assert report["refused"] == {"invalid": 1}
    assert sorted(moved(pool)) == ["n1", "n3"]
    assert pool.group("moved").status().held_ms is None


def test_a_page_that_cannot_be_enqueued_after_all_holds_no_group_and_runs_nothing_twice(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere.redis.lpush("celery", *(celery(n) for n in range(5)))
    real = QueuePool.enqueue_many

    def refused_after_two(pool: QueuePool, jobs: Any, **options: Any) -> Any:
        real(pool, list(jobs)[:2], **options)
        raise InvalidInputError("the third is not allowed")

    with monkeypatch.context() as patched:
        patched.setattr(QueuePool, "enqueue_many", refused_after_two)
        assert shell.run(*MOVE) == Exit.USAGE

    assert "the third is not allowed" in shell.err
    assert sorted(moved(pool)) == ["n0", "n1"]
    assert pool.group("moved").status().held_ms is None
    left = [json.loads(raw)["headers"]["id"] for raw in elsewhere.redis.lrange("celery", 0, -1)]
    assert sorted(left) == ["n2", "n3", "n4"]

    assert shell.run(*MOVE) == Exit.OK, shell.err
    assert sorted(moved(pool)) == [f"n{n}" for n in range(5)]
    assert elsewhere.contents() == {}


def test_a_job_with_a_long_id_that_was_cancelled_here_is_moved_under_a_new_one(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "0b7c9a8e-5d54-4c0f-9f0a-6f1c2d3e4f50"
    message = celery(1, id=name)
    elsewhere.redis.lpush("celery", message)
    real = QueuePool.enqueue_many

    def after_a_worker(*args: Any, **options: Any) -> Any:
        elsewhere.redis.rpop("celery")
        return real(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(QueuePool, "enqueue_many", after_a_worker)
        assert shell.run(*MOVE) == Exit.FAILED
    assert (shell.lines[0]["taken_by_others"], moved(pool)) == (1, {})
    elsewhere.redis.lpush("celery", message)

    assert shell.run(*MOVE) == Exit.OK, shell.err

    assert list(moved(pool)) == [name]
    assert pool.group("moved").status().held_ms is None


def scored_by_arq(there: Any, scores: dict[str, float]) -> None:
    for job_id in scores:
        there.set(f"arq:job:{job_id}", json.dumps({"f": "t", "a": [], "k": {}, "et": 1}))
    there.zadd("arq:queue", scores)


def scored_by_rq(there: Any, scores: dict[str, float]) -> None:
    for job_id in scores:
        stored = {"data": '["t", null, [], {}]', "created_at": AT}
        there.hset(f"rq:job:{job_id}", mapping=stored)
    there.zadd("rq:scheduled:default", scores)


def delayed_by_bullmq(there: Any, scores: dict[str, float]) -> None:
    for job_id in scores:
        stored = {"name": "t", "data": "{}", "timestamp": 1}
        there.hset(f"bull:default:{job_id}", mapping=stored)
    there.zadd("bull:default:delayed", scores)


@pytest.mark.parametrize(
    ("form", "add", "now"),
    [
        ("arq", scored_by_arq, RECORDED_S * 1000),
        ("rq", scored_by_rq, RECORDED_S),
        ("bullmq", delayed_by_bullmq, RECORDED_S * 1000 * 4096),
    ],
)
def test_a_job_that_is_never_due_is_refused_and_the_others_are_moved(
    form: str, add: Callable[[Any, dict[str, float]], None], now: int,
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere,
) -> None:  # fmt: skip
    scores = {"first": -math.inf, "now": now, "late": 1.7e308, "never": math.inf}
    add(elsewhere.redis, scores)
    words = ("import", form, "--same-names", "--key", "moved")

    assert shell.run(*words) == Exit.OK, shell.err
    assert "4 found, 2 can be moved, 0 delayed, 2 refused" in shell.out
    assert "2 t: due after more than 366 days" in shell.out

    assert shell.run(*words, "--move", "--json") == Exit.FAILED, shell.err
    assert shell.lines[0]["refused"] == {"invalid": 2}
    assert sorted(moved(pool)) == ["first", "now"]
    assert pool.group("moved").status().ready == 2


def test_a_prioritized_job_of_bullmq_is_moved_whatever_its_score(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    stored = {"name": "t", "data": "{}", "timestamp": 1, "priority": 3}
    elsewhere.redis.hset("bull:default:a", mapping=stored)
    elsewhere.redis.zadd("bull:default:prioritized", {"a": math.inf})

    assert shell.run("import", "bullmq", "--same-names", "--key", "moved", "--move") == Exit.OK

    assert sorted(moved(pool)) == ["a"]


def test_a_time_limit_of_any_length_is_at_most_a_week(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    message = celery(1, timelimit=["most", None]).replace(b'"most"', b"9" * 400)
    elsewhere.redis.lpush("celery", message, celery(2))

    assert shell.run(*MOVE) == Exit.OK, shell.err

    assert sorted(moved(pool)) == ["n1", "n2"]
