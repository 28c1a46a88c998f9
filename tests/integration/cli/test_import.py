"""queuepool import: queues that Celery 5.7, RQ 3.0, BullMQ 6.7 and arq 0.28 wrote, moved in.

The files in `queues` are what these libraries stored, key by key.
"""

import json
import zlib
from typing import Any

import pytest

from queuepool import QueuePool, Tier
from queuepool.cli.exits import Exit
from queuepool.cli.imports import celery as of_celery
from queuepool.cli.imports.foreign import RefusedError
from queuepool.cli.imports.moving import Importing
from tests.integration.cli.importing import (
    MOVE,
    RECORDED_S,
    Elsewhere,
    Killed,
    by_same_names,
    celery,
    moved,
)
from tests.shell import Shell

NOWHERE: Any = None
NAMES = {
    "celery": ("celery", "shop.tasks.send_mail", "shop.tasks.add"),
    "rq": ("mail", "shop.jobs.send_mail", "shop.jobs.add"),
    "bullmq": ("mail", "send_mail", "add"),
    "arq": ("arq:queue", "send_mail", "add"),
}
ADA, GRACE = {"to": "ada@example.org"}, {"to": "grace@example.org", "subject": "hello"}


def words(kind: str) -> tuple[str, ...]:
    queue, mail, add = NAMES[kind]
    tasks = (f"--task={mail}=send_mail(to)", f"--task={add}=add(x,y)")
    return ("import", kind, "--queue", queue, *tasks, "--key", "moved")


@pytest.mark.parametrize(
    ("kind", "found", "refused", "delayed"),
    [
        ("celery", 9, {"linked": 1, "pickled": 1, "unnamed": 1}, 1),
        ("rq", 6, {"linked": 1, "pickled": 1, "unnamed": 1}, 1),
        ("bullmq", 7, {"linked": 1, "unnamed": 1}, 1),
        ("arq", 5, {"pickled": 1, "unnamed": 1}, 1),
    ],
)
def test_a_queue_of_another_library_is_counted_and_then_moved(
    kind: str, found: int, refused: dict[str, int], delayed: int,
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere,
) -> None:  # fmt: skip
    elsewhere.load(kind)
    before = elsewhere.contents()

    assert shell.run(*words(kind), "--json") == Exit.OK, shell.err

    (report,) = shell.lines
    movable = found - sum(refused.values())
    assert (report["dry_run"], report["moved"]) == (True, 0)
    assert (report["found"], report["movable"]) == (found, movable)
    assert (report["refused"], report["delayed"]) == (refused, delayed)
    assert elsewhere.contents() == before
    assert pool.group("moved").status().total == 0

    assert shell.run(*words(kind), "--move", "--json") == Exit.FAILED, shell.err
    (report,) = shell.lines
    assert (report["moved"], report["refused"]) == (movable, refused)
    status = pool.group("moved").status()
    assert (status.total, status.delayed, status.held_ms) == (movable, delayed, None)
    jobs = moved(pool)
    assert jobs.pop(f"{kind[0]}1") == ("send_mail", ADA, Tier.DEFAULT, None)
    attempts = {"rq": 4, "bullmq": 3}.get(kind)
    assert jobs.pop(f"{kind[0]}2") == ("send_mail", GRACE, Tier.DEFAULT, attempts)
    assert jobs.pop(f"{kind[0]}3") == ("add", {"x": 1, "y": 2}, Tier.DEFAULT, None)
    if kind in ("celery", "bullmq"):  # it has a priority
        assert jobs.pop(f"{kind[0]}4") == ("add", {"x": 3, "y": 4}, Tier.LOW, None)

    assert shell.run(*words(kind), "--move", "--json") == Exit.FAILED, shell.err
    assert (shell.lines[0]["moved"], shell.lines[0]["found"]) == (0, sum(refused.values()))
    assert pool.group("moved").status().total == movable


@pytest.mark.parametrize("point", ["enqueue_many", "_remove", "_release"])
def test_an_import_that_is_killed_is_finished_by_the_next_and_nothing_is_twice(
    point: str, shell: Shell, pool: QueuePool, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere.redis.lpush("celery", *(celery(n) for n in range(250)))

    owner: Any = QueuePool if point == "enqueue_many" else Importing
    real, calls = getattr(owner, point), list[str]()

    def until_the_second(*args: Any, **options: Any) -> Any:
        calls.append(point)
        if len(calls) == 2 and point == "_release":
            raise Killed
        result = real(*args, **options)
        if len(calls) == 2:
            raise Killed
        return result

    with monkeypatch.context() as patched:
        patched.setattr(owner, point, until_the_second)
        with pytest.raises(Killed):
            shell.run(*MOVE)
    assert pool.group("moved").status().held_ms
    assert pool.group("moved").status().total == 200

    assert shell.run(*MOVE) == Exit.OK, shell.err

    status = pool.group("moved").status()
    assert (status.total, status.ready, status.held_ms) == (250, 250, None)
    assert elsewhere.contents() == {}
    assert shell.lines[0]["there_already"] == (100 if point == "enqueue_many" else 0)


def test_the_order_of_a_queue_is_kept(shell: Shell, pool: QueuePool, elsewhere: Elsewhere) -> None:
    elsewhere.redis.lpush("celery", *(celery(n, f'[[], {{"n": {n}}}, {{}}]') for n in range(230)))

    assert shell.run(*MOVE) == Exit.OK, shell.err

    place = pool.group("moved").partition
    server: Any = place.server
    ids = server.ask("LRANGE", place.key + b":q:2:moved", 0, -1)
    assert [job_id.decode().split(":")[1] for job_id in ids] == [f"n{n}" for n in range(230)]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "damaged"),
        (b"{", "damaged"),
        (b"[]", "damaged"),
        (b"\xff\xfe\x00", "damaged"),
        (b"\x80\x04K\x01.", "pickled"),
        (celery(1)[:-40], "damaged"),
        (celery(1, "not json"), "damaged"),
        (celery(1, "[[]]"), "damaged"),
        (celery(1, "[{}, [], {}]"), "damaged"),
        (celery(1, '[[], {}, {"chord": {"task": "t"}}]'), "linked"),
        (celery(1, "[[1], {}, {}]"), "positional"),
        (celery(1, '[[], {"a": NaN}, {}]'), "damaged"),
        (celery(1, '[[], {"a": %s}, {}]' % ("[" * 900 + "]" * 900)), "invalid"),
        (celery(1, '[[], {"a": "%s"}, {}]' % ("x" * 300_000)), "invalid"),
        (celery(1, compression="application/x-bz2"), "compressed"),
        (celery(1, compression="application/x-gzip"), "damaged"),
        (celery(1, task=None), "damaged"),
        (celery(1, eta="soon"), "damaged"),
        (celery(1, expires="2001-01-01T00:00:00+00:00"), "expired"),
        (celery(1, eta="2999-01-01T00:00:00+00:00"), "invalid"),
    ],
)
def test_why_a_job_cannot_be_moved(message: bytes, reason: str) -> None:
    (entry,) = of_celery.entries(NOWHERE, "celery", NOWHERE, [(message, 0)])
    naming = by_same_names()

    with pytest.raises(RefusedError) as refused:
        naming.job_of(entry, RECORDED_S * 1000)

    assert refused.value.reason.name.lower() == reason


def test_what_cannot_be_moved_is_counted_and_stays(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    damaged = [b"{%d" % number for number in range(150)]
    elsewhere.redis.lpush("celery", *damaged[:120], celery(1), *damaged[120:], celery(2))

    assert shell.run(*MOVE) == Exit.FAILED, shell.err

    assert shell.lines[0]["refused"] == {"damaged": 150}
    assert elsewhere.redis.lrange("celery", 0, -1) == damaged[::-1]
    assert sorted(moved(pool)) == ["n1", "n2"]


def test_a_body_that_inflates_beyond_bounds_is_refused(shell: Shell, elsewhere: Elsewhere) -> None:
    bomb = zlib.compress(b" " * 50_000_000, 9)
    elsewhere.redis.hset("rq:job:b", mapping={"data": bomb, "created_at": "now"})
    elsewhere.redis.rpush("rq:queue:default", "b")

    assert shell.run("import", "rq", "--same-names", "--json") == Exit.OK

    assert shell.lines[0]["refused"] == {"large": 1}


def test_what_a_worker_took_meanwhile_is_not_here_as_well(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere.redis.lpush("celery", celery(1), celery(2))
    real = QueuePool.enqueue_many

    def after_a_worker(*args: Any, **options: Any) -> Any:
        elsewhere.redis.rpop("celery")
        return real(*args, **options)

    monkeypatch.setattr(QueuePool, "enqueue_many", after_a_worker)
    assert shell.run(*MOVE) == Exit.FAILED

    assert (shell.lines[0]["moved"], shell.lines[0]["taken_by_others"]) == (1, 1)
    assert list(moved(pool)) == ["n2"]


def test_imports_exclude_one_another_and_other_options_do_not_finish_one(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere.redis.lpush("celery", celery(1))
    elsewhere.redis.set("queuepool:import:celery:celery:lock", "another")
    assert shell.run(*MOVE) == Exit.USAGE
    assert "another import of celery is under way" in shell.err
    elsewhere.redis.delete("queuepool:import:celery:celery:lock")

    def killed(*_args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Importing, "_remove", killed)
        with pytest.raises(Killed):
            shell.run(*MOVE)

    assert shell.run("import", "celery", "--same-names", "--move", "--key", "x") == Exit.USAGE
    assert "with other options was interrupted" in shell.err
    assert pool.group("x").status().total == 0


def test_keys_and_tiers_follow_the_jobs(
    shell: Shell, pool: QueuePool, elsewhere: Elsewhere
) -> None:
    for number, priority in ((1, 0), (2, 3), (3, 9)):
        message = json.loads(celery(number, f'[[], {{"shop": {number}}}, {{}}]'))
        message["properties"]["priority"] = priority
        place = "celery" if priority == 0 else f"celery\x06\x16{priority}"
        elsewhere.redis.lpush(place, json.dumps(message))

    tiers = ("--tier", "0=high", "--tier", "1-5=critical")
    assert shell.run(*MOVE, "--key-argument", "shop", *tiers) == Exit.OK, shell.err

    ready = shell.json("job", "find", "--state", "ready")
    found = {job["group"]: job["tier"] for job in ready}
    assert found == {"1": "high", "2": "critical", "3": "low"}
    assert pool.group("2").status().held_ms is None


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("--task", "a"), "write THEIRS=OURS"),
        (("--task", "a=b(1)"), "write THEIRS=OURS"),
        (("--task", "a=b(x,x)"), "twice"),
        (("--tier", "5-1=low"), "PRIORITY=TIER"),
        (("--tier", "1=lowest"), "PRIORITY=TIER"),
        (("--queue", ""), "visible characters"),
        (("--from", "http://a"), "redis://"),
        (("--move", "--dry-run"), "not both"),
    ],
)
def test_arguments_that_mean_nothing_are_told(
    more: tuple[str, ...], problem: str, shell: Shell, elsewhere: Elsewhere
) -> None:
    assert shell.run("import", "celery", *more) == Exit.USAGE, elsewhere.url
    assert problem in shell.err


def test_a_key_that_is_no_queue_and_a_server_that_is_away_are_told(
    shell: Shell, elsewhere: Elsewhere
) -> None:
    elsewhere.redis.set("celery", "text")

    assert shell.run(*MOVE) == Exit.FAILED
    assert "celery is a string, not a list; nothing was moved" in shell.err

    assert shell.run("import", "celery", "--from", "redis://:secret@127.0.0.1:1") == (
        Exit.UNAVAILABLE
    )
    assert "secret" not in shell.err


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("celery", {"_kombu.binding.mails": {"a"}, "_kombu.binding.more": {"a"}}),
        ("rq", {"rq:queue:mails": ["1"], "rq:queue:more": ["1"]}),
        ("bullmq", {"bull:mails:meta": {"v"}, "bull:more:meta": {"v"}, "bull:more:wait": {"1"}}),
        ("arq", {"mails:health-check": ["1"], "more:health-check": ["1"]}),
    ],
)
def test_a_queue_that_is_not_there_is_told_with_those_that_are(
    kind: str, keys: dict[str, Any], shell: Shell, elsewhere: Elsewhere
) -> None:
    for key, value in keys.items():
        elsewhere.redis.rpush(key, *value)

    assert shell.run("import", kind, "--queue", "Mails", "--same-names") == Exit.OK

    assert "no queue Mails was found: it is empty, or has another name" in shell.err
    assert "queues there: mails, more\n" in shell.err


def test_a_queue_that_is_empty_is_told(shell: Shell, elsewhere: Elsewhere) -> None:
    assert shell.run("import", "rq", "--queue", "mails", "--same-names") == Exit.OK
    assert "no other queue was found there" in shell.err

    elsewhere.redis.hset("bull:mails:meta", "version", "bullmq:6.7.0")
    elsewhere.redis.rpush("bull:mails:active", "1")
    assert shell.run("import", "bullmq", "--queue", "mails", "--same-names") == Exit.OK
    assert "mails is empty" in shell.err

    for number in range(12):
        elsewhere.redis.rpush(f"rq:queue:q{number:02}", "1")
    assert shell.run("import", "rq", "--queue", "mails", "--same-names", "--json") == Exit.OK
    assert shell.lines[0]["queues_there"] == [f"q{number:02}" for number in range(12)]
    assert shell.run("import", "rq", "--queue", "mails", "--same-names") == Exit.OK
    assert "q08, q09 and 2 more\n" in shell.err


def test_a_user_who_may_not_look_for_keys_is_told_of_no_other_queue(
    shell: Shell, elsewhere: Elsewhere
) -> None:
    elsewhere.redis.rpush("rq:queue:more", "1")
    elsewhere.redis.acl_setuser(
        "mover", enabled=True, passwords=["+pw"], keys=["*"], commands=["+@all", "-scan"]
    )
    try:
        url = elsewhere.url.replace("//", "//mover:pw@")
        assert shell.run("import", "rq", "--same-names", "--from", url) == Exit.OK, shell.err
    finally:
        elsewhere.redis.acl_deluser("mover")

    assert "no other queue was found there" in shell.err
