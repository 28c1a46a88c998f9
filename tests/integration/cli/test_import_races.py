"""Imports beside workers of the other queue: nothing runs in both systems, nothing is lost."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.cli.imports.moving import Importing
from tests.integration.cli.importing import MOVE, Elsewhere, Killed, celery, moved
from tests.shell import Shell

FORMS = ("rq", "bullmq", "arq")
PLACES = {"rq": "rq:queue:mail", "bullmq": "bull:mail:wait", "arq": "arq:queue"}


@contextmanager
def before_the_removal(do: Callable[[], object]) -> Iterator[None]:
    """Do something when a page is here, and still there."""
    real = Importing._remove

    def remove(*args: Any) -> None:
        do()
        real(*args)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Importing, "_remove", remove)
        yield


def die() -> None:
    raise Killed


def numbers(pool: QueuePool) -> list[str]:
    """Return the jobs that wait here, by their ids there."""
    return sorted(moved(pool))


def add(elsewhere: Elsewhere, form: str) -> None:
    """Enqueue job "a" there."""
    there = elsewhere.redis
    if form == "rq":
        there.hset("rq:job:a", mapping={"data": '["t", null, [], {}]', "created_at": "now"})
        there.rpush("rq:queue:mail", "a")
    elif form == "bullmq":
        there.hset("bull:mail:a", mapping={"name": "t", "data": "{}", "timestamp": 1})
        there.lpush("bull:mail:wait", "a")
    else:
        there.set("arq:job:a", json.dumps({"f": "t", "a": [], "k": {}, "et": 1}))
        there.zadd("arq:queue", {"a": 1})


def take(elsewhere: Elsewhere, form: str) -> None:
    """Take job "a" as a worker does."""
    there = elsewhere.redis
    if form == "rq":
        assert there.lpop("rq:queue:mail") == b"a"
    elif form == "bullmq":
        assert there.rpoplpush("bull:mail:wait", "bull:mail:active") == b"a"
    else:
        there.psetex("arq:in-progress:a", 60_000, "1")


def give_back(elsewhere: Elsewhere, form: str) -> None:
    """Return job "a" to its queue, as when its worker died."""
    there = elsewhere.redis
    if form == "rq":
        there.lpush("rq:queue:mail", "a")
    elif form == "bullmq":
        assert there.rpoplpush("bull:mail:active", "bull:mail:wait") == b"a"
    else:
        assert there.delete("arq:in-progress:a") == 1


def words(form: str) -> tuple[str, ...]:
    queue = "arq:queue" if form == "arq" else "mail"
    return ("import", form, "--queue", queue, *MOVE[2:])


def test_what_a_worker_took_after_an_import_was_killed_does_not_run_here_as_well(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    elsewhere.redis.lpush("celery", *(celery(n) for n in range(5)))
    with before_the_removal(die), pytest.raises(Killed):
        shell.run(*MOVE)
    assert pool.group("moved").status().ready == 5
    taken = [json.loads(elsewhere.redis.rpop("celery"))["headers"]["id"] for _ in range(2)]
    assert taken == ["n0", "n1"]

    assert shell.run(*MOVE) == Exit.FAILED, shell.err

    report = shell.lines[0]
    assert (report["found"], report["moved"], report["taken_by_others"]) == (5, 3, 2)
    assert numbers(pool) == ["n2", "n3", "n4"]
    assert pool.group("moved").status().held_ms is None
    assert elsewhere.contents() == {}


def test_a_page_of_which_all_was_taken_after_a_kill_is_cancelled_here(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    elsewhere.redis.lpush("celery", *(celery(n) for n in range(50)))
    with before_the_removal(die), pytest.raises(Killed):
        shell.run(*MOVE)
    elsewhere.redis.delete("celery")

    assert shell.run(*MOVE) == Exit.FAILED, shell.err

    assert (shell.lines[0]["moved"], shell.lines[0]["taken_by_others"]) == (0, 50)
    assert numbers(pool) == []
    assert shell.run(*MOVE) == Exit.OK, shell.err


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_a_worker_took_and_gave_back_is_moved_by_the_next_import(
    form: str, shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    add(elsewhere, form)
    for _ in range(2):
        with before_the_removal(lambda: take(elsewhere, form)):
            assert shell.run(*words(form)) == Exit.FAILED
        assert (shell.lines[0]["moved"], shell.lines[0]["taken_by_others"]) == (0, 1)
        assert numbers(pool) == []
        give_back(elsewhere, form)

    assert shell.run(*words(form)) == Exit.OK, shell.err

    assert (shell.lines[0]["moved"], shell.lines[0]["there_already"]) == (1, 0)
    assert numbers(pool) == ["a"]
    assert elsewhere.contents() == {}


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_was_given_back_before_the_next_import_is_finished_by_it(
    form: str, shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    add(elsewhere, form)
    with before_the_removal(die), pytest.raises(Killed):
        shell.run(*words(form))
    take(elsewhere, form)
    give_back(elsewhere, form)

    assert shell.run(*words(form)) == Exit.OK, shell.err

    assert (shell.lines[0]["moved"], shell.lines[0]["there_already"]) == (1, 1)
    assert numbers(pool) == ["a"]
    assert elsewhere.contents() == {}


def test_a_job_of_arq_that_starts_during_the_import_stays_there(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    add(elsewhere, "arq")

    with before_the_removal(lambda: take(elsewhere, "arq")):
        assert shell.run(*words("arq")) == Exit.FAILED

    report = shell.lines[0]
    assert (report["moved"], report["taken_by_others"]) == (0, 1)
    assert report["refused"] == {"running": 1}
    assert numbers(pool) == []
    assert sorted(elsewhere.contents()) == [b"arq:in-progress:a", b"arq:job:a", b"arq:queue"]


def test_a_job_that_is_here_is_removed_there_even_if_the_note_is_lost(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    elsewhere.redis.lpush("celery", celery(1))
    with before_the_removal(die), pytest.raises(Killed):
        shell.run(*MOVE)
    elsewhere.redis.delete("queuepool:import:celery:celery")

    assert shell.run(*MOVE) == Exit.OK, shell.err

    assert (shell.lines[0]["moved"], shell.lines[0]["there_already"]) == (1, 1)
    assert numbers(pool) == ["n1"]
    assert elsewhere.contents() == {}


def test_copies_of_a_message_are_one_job(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    elsewhere.redis.lpush("celery", celery(1), b"{", celery(1), celery(2))

    assert shell.run(*MOVE) == Exit.FAILED

    assert (shell.lines[0]["found"], shell.lines[0]["moved"]) == (4, 3)
    assert numbers(pool) == ["n1", "n2"]
    assert elsewhere.redis.lrange("celery", 0, -1) == [b"{"]


def test_jobs_that_moved_in_their_list_are_found(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    refused = [b"{%d" % number for number in range(50)]
    elsewhere.redis.lpush("celery", *refused, *(celery(n) for n in range(50)))

    with before_the_removal(lambda: elsewhere.redis.rpop("celery", 30)):
        assert shell.run(*MOVE) == Exit.FAILED

    assert (shell.lines[0]["moved"], shell.lines[0]["taken_by_others"]) == (50, 0)
    assert len(numbers(pool)) == 50
    assert elsewhere.redis.lrange("celery", 0, -1) == refused[:29:-1]


@pytest.mark.parametrize(
    "fields",
    [{"other": "1"}, {"page": "1"}, {"page": b"\x90"}, {"page": b"\xc1"}, {b"\xff": "1"}],
)
def test_a_note_that_is_none_stops_an_import(
    fields: dict[str, str], shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    elsewhere.redis.lpush("celery", celery(1))
    elsewhere.redis.hset("queuepool:import:celery:celery", mapping=fields)

    assert shell.run(*MOVE) == Exit.USAGE

    assert "is not a record of an import; inspect and delete it" in shell.err
    assert numbers(pool) == []


def test_a_noted_job_that_is_cut_short_stops_an_import(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    elsewhere.redis.lpush("celery", celery(1))
    with before_the_removal(die), pytest.raises(Killed):
        shell.run(*MOVE)
    note = "queuepool:import:celery:celery"
    (name,) = set(elsewhere.redis.hkeys(note)) - {b"page"}
    elsewhere.redis.hset(note, name, elsewhere.redis.hget(note, name)[:9])

    assert shell.run(*MOVE) == Exit.USAGE

    assert "is not a record of an import" in shell.err
    assert elsewhere.redis.llen("celery") == 1
    assert pool.group("moved").status().held_ms
