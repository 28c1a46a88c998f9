"""What `queuepool check` reports on one server: replies, permissions, confirmations, times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from queuepool.cli.display import output
from queuepool.cli.inspection.probes import Trouble, functions, probe
from queuepool.cli.inspection.server_info import judge_info, name_of
from queuepool.errors import QueuePoolError
from queuepool.settings.config import PoolConfig
from queuepool.verbs.producer import confirm

_PINGS = 20
_SLOW_S = 0.01
_SKEW_S = 5.0
_RIGHTS = (
    "This check needs the permissions of `ops` (see `queuepool acl` and docs/security.md); "
    "producers, consumers and coordinators need fewer"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. level: ok, warning or error. where: settings, or a server."""

    level: str
    where: str
    text: str


def inspect(name: str, url: str, config: PoolConfig) -> list[Finding]:
    """Return all findings on one server."""
    import redis

    from queuepool.servers import urls, wire

    plain_url, cluster = wire.check_url(url)
    where = f"{name} ({wire.display_name(plain_url)})"
    numbers = range(config.topology.partitions)
    first = next((n for n in numbers if config.topology.server_of(n) == name), 0)
    base = config.keyspace.partition(first)
    try:
        if cluster:
            found = list(_cluster(name, plain_url, base, config.timeout_s))
        else:
            options = wire.client_options(config.timeout_s)
            pool = wire.make_pool(redis.ConnectionPool, plain_url, options)
            with redis.Redis.from_pool(pool) as client:
                found = [Finding(level, where, text) for level, text in _look(client, base)]
        return [*found, *confirmation(url, where, first, config)]
    except wire.FAILURES as error:
        return [Finding("error", where, _failure(error, where))]
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # of reading a reply
        kind = type(error).__name__
        text = f"does not reply like a Redis server ({kind}). Fix {urls.SETTINGS}"
        return [Finding("error", where, text)]


def _failure(error: Exception, where: str) -> str:
    import redis

    from queuepool.servers import tls, urls
    from queuepool.servers.local_faults import local_error

    said = output.clean(str(error)).rstrip(".")
    if isinstance(error, redis.AuthenticationError):
        return f"rejects the password: {said}. Fix {urls.SETTINGS}"
    if isinstance(error, redis.exceptions.NoPermissionError):
        return f"{said}. {_RIGHTS}"
    if isinstance(error, redis.ResponseError):  # it answers, so starting it would not help
        return f"refuses: {said}"
    ours = local_error(where, error)
    if ours is not None:
        return str(ours)
    remedy = tls.remedy(error) or f"start it, or fix {urls.SETTINGS}"
    return f"does not respond ({type(error).__name__}: {said}). {remedy[0].upper()}{remedy[1:]}"


def _cluster(name: str, url: str, base: bytes, timeout_s: float) -> Iterator[Finding]:
    """Yield findings on each primary; functions are tried on the one that has `base`."""
    import redis

    with redis.RedisCluster.from_url(url, socket_timeout=timeout_s) as whole:
        chosen = whole.get_node_from_key(base.decode())
        for node in whole.get_primaries():
            client = whole.get_redis_connection(node)
            if node == chosen:
                found = _look(client, base, cluster=True)
            else:
                found = judge_info(_info(client), cluster=True)
            for level, text in found:
                yield Finding(level, f"{name} ({node.host}:{node.port})", text)


def confirmation(url: str, where: str, partition: int, config: PoolConfig) -> Iterator[Finding]:
    """Yield whether the server confirms writes as the setting requires; nothing for `fast`."""
    from queuepool.client.durability import confirmation_for
    from queuepool.servers.connect import connect

    wanted = confirmation_for(config, None)
    if not wanted:
        return
    base = config.keyspace.partition(partition)
    server = connect(url, timeout_s=config.timeout_s)
    try:
        _, *replies = server.run(base, [confirm.touch(base + b":probe:k"), *wanted.verbs])
        problem = wanted.problem(replies, partition)
    except QueuePoolError as error:
        problem = error
    finally:
        server.close()
    if problem is None:
        text = f"confirms writes as required by QUEUEPOOL_DURABILITY={wanted.durability}"
        yield Finding("ok", where, text)
    else:
        text = f"QUEUEPOOL_DURABILITY={wanted.durability}: {output.clean(str(problem))}"
        yield Finding("error", where, text)


def _look(client: Any, base: bytes, *, cluster: bool = False) -> Iterator[tuple[str, str]]:
    info = _info(client)
    failures = probe(client, base)
    missing = functions(failures, Trouble.MISSING)
    forbidden = functions(failures, Trouble.FORBIDDEN)
    if missing:
        yield (
            "error",
            (
                f"{name_of(info)} lacks what queuepool needs: {', '.join(missing)}. Use Redis "
                "7.0 or newer, or Valkey"
            ),
        )
    if forbidden:
        name = client.get_connection_kwargs().get("username")
        user = info.get("user", f"user {name}" if name else "this user")
        yield (
            "error",
            (f"{user} may not call {', '.join(forbidden)} on {base.decode()}:*. {_RIGHTS}"),
        )
    others = [failure for failure in failures if failure.trouble is Trouble.OTHER]
    for text in dict.fromkeys(failure.text for failure in others):  # one cause, one line
        failed = functions((f for f in others if f.text == text), Trouble.OTHER)
        yield "error", f"{', '.join(failed)} failed: {output.clean(text)}"
    if not failures:
        yield "ok", f"{name_of(info)} supports and permits every function that queuepool uses"
    yield from judge_info(info, cluster=cluster)
    yield from _timing(client)


def _info(client: Any) -> dict[str, Any]:
    import redis

    known: dict[str, Any] = {}
    # Managed services forbid some of it; the remaining information is enough.
    with suppress(redis.ResponseError):
        known.update(client.info())
    with suppress(redis.ResponseError):
        user = client.execute_command("ACL", "WHOAMI")
        known["user"] = f"user {user.decode() if isinstance(user, bytes) else user}"
    with suppress(redis.ResponseError):
        known["config_save"] = next(iter(client.config_get("save").values()), "")
        known["lazy_expire"] = _text(client.config_get("lazyfree-lazy-expire"))
    return known


def _text(found: Mapping[Any, Any]) -> str:
    value = next(iter(found.values()), "")
    return value.decode() if isinstance(value, bytes) else str(value)


def _timing(client: Any) -> Iterator[tuple[str, str]]:
    import redis

    times = []
    try:
        for _ in range(_PINGS):
            started = time.perf_counter()
            seconds, microseconds = client.time()
            times.append(time.perf_counter() - started)
    except redis.exceptions.NoPermissionError:
        return  # reported with the missing functions
    middle_s = statistics.median(times)
    level = "warning" if middle_s > _SLOW_S else "ok"
    remark = ". Run consumers closer to it" if middle_s > _SLOW_S else ""
    yield level, f"answers in {middle_s * 1000:.2f} ms (median of {_PINGS}){remark}"
    skew_s = time.time() - (seconds + microseconds / 1e6)
    if abs(skew_s) > _SKEW_S:
        yield (
            "warning",
            (
                f"its clock is {abs(skew_s):.1f} s {'behind' if skew_s > 0 else 'ahead of'} "
                "this machine's: jobs with a run-at time start early or late by that much. "
                "Synchronize the clocks"
            ),
        )
