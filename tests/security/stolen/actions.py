"""The rows of docs/security.md about users of a server: an action, who may, how it is tried.

The tests try each command by itself and in a script, where the same rights hold. They name keys by
{p} (a partition), {s} (what the system shares), {queue} and {stage} (a partition of another queue,
of another stage) and {e} (the owner's epoch); {big} are four megabytes. What the administrator does
first is marked with !.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from queuepool.errors import FencedError
from queuepool.models import JobStatus
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.log import verbs as log
from queuepool.verbs.producer import route
from tests.security.stolen.action import Action, does, refused, sees, writes
from tests.security.stolen.scene import (
    ADDRESS,
    ERROR,
    GROUP,
    PARTITIONS,
    PAYLOAD,
    REASON,
    RESULT,
    Scene,
)  # fmt: skip

_BODY = '121a1f9f3b3dc3e901g["forged",{}]'


def _job(job_id: str, holds: Callable[[JobStatus], bool]) -> Callable[[Scene], bool]:
    return lambda scene: holds(scene.partition.status(job_id))


def _fenced(scene: Scene) -> bool:
    with suppress(FencedError):
        scene.renewed()
        return False
    return True


def _leader(scene: Scene) -> str:
    return str(scene.ask(lead.who_leads()).address)


def _partitions(scene: Scene) -> int | None:
    record = scene.ask(route.look(scene.system))
    return record.partitions if record else None


READING = (
    sees("read payloads", "all", PAYLOAD, "HGET {p}:j waiting", "HMGET {p}:j waiting"),
    sees(
        "read results", "producer consumer ops-read ops", RESULT,
        "GET {p}:r:ended", "SET {p}:r:ended x GET",
    ),
    sees(
        "read errors and tracebacks", "all", ERROR,
        "HGET {p}:er dead", "HGETALL {p}:er", "HMGET {p}:er dead",
    ),
    sees("read names of groups", "all", GROUP, "LRANGE {p}:ring:2 0 -1"),
    sees("read counters and totals", "all", b"total", "HGETALL {p}:g:secret-group"),
    sees(
        "read worker commands", "consumer coordinator ops-read ops", REASON,
        "XRANGE {p}:cmd - +", "XREVRANGE {p}:cmd + -",
    ),
    sees(
        "read who leads", "coordinator ops-read ops", ADDRESS,
        "HGETALL {s}:leader", "HMGET {s}:leader address",
    ),
    sees(
        "read scaling decisions", "coordinator ops-read ops", REASON,
        "XREVRANGE {s}:why:0 + -", "XRANGE {s}:why:0 - +",
    ),
)  # fmt: skip

JOBS = (
    does(
        "enqueue", "producer coordinator ops", _job("forged", lambda s: s.state == "ready"),
        f"HSETNX {{p}}:j forged {_BODY}", f"HSET {{p}}:j forged {_BODY}",
    ),
    does(
        "replace the payload of a job", "producer ops",
        _job("waiting", lambda s: s.task == "forged"),
        # Consumers may delete, and not add; coordinators may add, and not delete.
        ("HDEL {p}:j waiting", f"HSETNX {{p}}:j waiting {_BODY}"),
        f"HSET {{p}}:j waiting {_BODY}",
    ),
    does(
        "destroy jobs: waiting, delayed, running or dead", "producer consumer ops",
        _job("dead", lambda s: s.state == "unknown"),
        "HDEL {p}:j waiting later running dead",
    ),
    does(
        "ask a running job to stop", "producer ops", _job("running", lambda s: s.cancel_requested),
        "HSET {p}:cn running 1",
    ),
    writes(
        "change the order, and when delayed jobs are due", "producer consumer ops",
        "ZADD {p}:dl 1 later", "LPOP {p}:q:2:secret-group",
    ),
    writes(
        "falsify or delete totals of groups", "producer consumer coordinator ops",
        "HSET {p}:g:secret-group left 0", "PEXPIRE {p}:g:secret-group 1",
    ),
    writes("falsify counters", "producer consumer coordinator ops", "HSET {p}:c r2 1000000"),
    writes("hold or release everything", "producer consumer coordinator ops", "HSET {p}:c hold 1"),
    writes(
        "hold, cap or release a group", "producer consumer coordinator ops",
        "HSET {p}:g:secret-group hold 1", "HSET {p}:g:secret-group max 1",
    ),
    writes(
        "set, pause or remove limits", "consumer coordinator ops",
        "HSET {p}:li:mail set 9:1000000:9:0:0:0", "ZADD {p}:ls 0 mail",
    ),
    writes(
        "use up what limits allow, or forget that it is used up", "consumer ops",
        "HSET {p}:lc:mail 9:9 99:0:0:0", "ZADD {p}:lw:mail 1 9:9", "HSET {p}:lp:9 mail:9 1",
    ),
    writes(
        "forget which ids ended, so that a repeat runs again", "producer consumer ops",
        "UNLINK {p}:dn:1", "SREM {p}:dn:1 ended",
    ),
    does(
        "make a job look done, without a result", "producer consumer ops",
        _job("running", lambda s: s.state == "done" and s.result is None),
        ("HDEL {p}:j running", "SADD {p}:dn:1 running"),
    ),
    writes(
        "clear attempts, crashes and errors", "producer consumer ops",
        "HDEL {p}:at failed", "HDEL {p}:er dead", "HDEL {p}:cr dead",
    ),
    does(
        "write attempts and crashes", "consumer ops", _job("failed", lambda s: s.attempts > 9),
        "HINCRBY {p}:at failed 9", "HSET {p}:at failed notanumber",
        "HSETNX {p}:cr waiting notanumber", "HSET {p}:cr waiting notanumber",
        "HSETNX {p}:at waiting notanumber",
    ),
    does(
        "forge an error", "consumer ops",
        _job("dead", lambda s: s.error is not None and s.error.message == "forged"),
        'HSET {p}:er dead {"reason":"failed","message":"forged"}', "HSETNX {p}:er waiting forged",
    ),
    does(
        "forge progress", "consumer ops", _job("running", lambda s: s.progress == "forged"),
        "HSET {p}:pr running forged",
    ),
    does(
        "forge a result", "consumer ops", _job("ended", lambda s: s.result == "forged"),
        'SET {p}:r:ended "forged"', 'SET {p}:r:ended "forged" GET',
    ),
    does(
        "claim, and end a job that runs", "consumer ops",
        _job("running", lambda s: s.state != "in-flight"),
        "ZREM {p}:fl:{e} running", "ZADD {p}:fl:{e} 1 waiting",
    ),
    does(
        "bury, replay and discard", "consumer ops", _job("dead", lambda s: s.state == "ready"),
        "ZREM {p}:dead dead", "ZADD {p}:dead 1 waiting",
    ),
    does(
        "own a partition", "consumer ops", _fenced,
        "HSET {p}:o nonce thief", "HINCRBY {p}:o epoch 1", "HSET {p}:dr 1 thief:1",
    ),
    writes("swallow wake tokens", "producer consumer ops", "UNLINK {p}:wk", "BLPOP {p}:wk 1"),
)  # fmt: skip

STEERING = (
    writes("wake an owner", "producer consumer coordinator ops", "RPUSH {p}:wk w"),
    does(
        "send commands", "coordinator ops",
        lambda scene: any(c.target_workers == 512 for c in scene.renewed().commands),
        "XADD {p}:cmd * type SCALE_UP partition 0 targetWorkers 512 expires 99999999999999",
    ),
    writes("write checkpoints", "coordinator ops", "HSET {p}:ck target 512"),
    does(
        "set workers by hand", "coordinator ops",
        lambda scene: 1 in scene.ask(lead.who_leads()).manual,
        "HSET {s}:manual 1 512:99999999999999", "HDEL {s}:manual 0",
    ),
    does(
        "change how worker counts are decided", "coordinator ops",
        lambda scene: scene.ask(lead.read_policy()).values == {"mode": "manual"},
        'HSET {s}:policy record {"values":{"mode":"manual"}}',
    ),
    writes(
        "set, pause or remove schedules", "coordinator ops",
        "HSET {s}:schedules nightly 1:1:0:thief", "HDEL {s}:schedules nightly",
    ),
    does(
        "take the lead, and send operators elsewhere", "coordinator ops",
        lambda scene: _leader(scene) == "thief",
        "HSET {s}:leader nonce thief address thief",
    ),
    does(
        "write decisions", "coordinator ops",
        lambda scene: scene.ask(lead.decisions("+", 1, 0))[0][1] == b"forged",
        "XADD {s}:why:0 * d forged",
    ),
    does(
        "write to the log, and delete its entries", "coordinator ops",
        lambda scene: [one.who for one in scene.ask(log.read_log())] == ["forged"],
        'XADD {s}:log:act MAXLEN 1 * e {"what":"hold","who":"forged"}',
    ),
    does(
        "say how many partitions there are where no record says it", "consumer coordinator ops",
        lambda scene: _partitions(scene) == 9,
        (
            "!UNLINK {s}:route", "HSETNX {s}:route version 1", "HSETNX {s}:route layout mod",
            "HSETNX {s}:route partitions 9",
        ),
    ),
    does(
        "change the record of how many there are", "ops",
        lambda scene: _partitions(scene) == 9,
        "HSET {s}:route partitions 9",
    ),
    does(
        "delete the record of how many there are", "none",
        lambda scene: _partitions(scene) != PARTITIONS,
        "HDEL {s}:route partitions", "UNLINK {s}:route", "PEXPIRE {s}:route 1",
    ),
)  # fmt: skip

SERVER = (
    refused(
        "read or write another queue or stage of the server",
        "HGET {queue}:j waiting", "HMGET {stage}:j waiting", "HSETNX {queue}:j id forged",
        "HSET {stage}:c r2 1", "HDEL {queue}:j waiting", "RPUSH {queue}:wk w", "LPOP {stage}:wk",
        "HSET {queue}:o nonce thief", "HSET {stage}:ck target 512", "BLPOP {queue}:wk 1",
    ),
    refused(
        "read or write keys of others",
        "GET elsewhere", "SET elsewhere 1", "UNLINK elsewhere", "PEXPIRE elsewhere 1",
        "HSET {p} field 1", "SET {p}:new 1", "RENAME {p}:j {p}:q:2:j", "COPY {p}:j {p}:q:2:j",
        "RESTORE {p}:j 0 0",
    ),
    writes(
        "store more, and larger values, than any limit of queuepool allows",
        "producer consumer coordinator ops",
        "HSETNX {p}:j big {big}", "HSET {p}:er big {big}", "HSET {p}:ck big {big}",
    ),
    sees(
        "see the server's figures: INFO", "consumer coordinator ops-read ops", b"used_memory",
        "INFO",
    ),
    sees(
        "read the server's configuration, with passwords in it", "ops", b"maxmemory",
        "CONFIG GET maxmemory",
    ),
    refused(
        "change the server: configuration, users, modules, replication",
        "CONFIG SET maxmemory 1", "CONFIG REWRITE", "CONFIG RESETSTAT",
        "ACL SETUSER thief on nopass ~* +@all", "ACL DELUSER admin", "ACL LIST",
        "ACL GETUSER admin", "ACL LOAD", "ACL SAVE", "ACL LOG RESET", "MODULE LIST",
        "MODULE LOAD /tmp/m.so",
        "REPLICAOF NO ONE", "SLAVEOF 127.0.0.1 1", "FAILOVER", "CLUSTER RESET",
        "CLUSTER MEET 127.0.0.1 1", "DEBUG SLEEP 0", "DEBUG JMAP", "LATENCY RESET",
    ),
    refused(
        "delete everything, end the server, stall or unhook its clients",
        "FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "SHUTDOWN NOSAVE", "SCRIPT FLUSH", "SCRIPT KILL",
        "CLIENT KILL TYPE normal", "CLIENT PAUSE 1", "CLIENT TRACKING ON",
        "SAVE", "BGSAVE", "BGREWRITEAOF", "MIGRATE 127.0.0.1 1 elsewhere 0 1",
    ),
    sees(
        "list the names of all keys of the server", "ops", b"partition_",
        "SCAN 0 COUNT 10000", "KEYS *",
    ),
    refused(
        "listen to others, copy everything",
        "RANDOMKEY", "DBSIZE", "MONITOR", "SUBSCRIBE channel", "PSUBSCRIBE *",
        "SSUBSCRIBE channel", "PUBLISH channel text", "SLOWLOG GET", "SYNC", "PSYNC ? -1",
        "DUMP {p}:j", "OBJECT FREQ {p}:j", "MEMORY USAGE {p}:j", "SORT {p}:wk",
        "XREAD STREAMS {p}:cmd 0", "MULTI", "WATCH {p}:j",
    ),
    refused(
        "EVAL and functions",
        "EVAL return{1} 0", "EVAL_RO return{1} 0", "EVALSHA_RO 0 0", "FUNCTION LIST",
        "FUNCTION FLUSH", "FUNCTION LOAD #!lua", "FCALL f 0", "FCALL_RO f 0",
    ),
)  # fmt: skip

SECTIONS: dict[str, tuple[Action, ...]] = {
    "reading": READING,
    "jobs": JOBS,
    "steering": STEERING,
    "the server": SERVER,
}
