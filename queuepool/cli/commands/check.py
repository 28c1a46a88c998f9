"""queuepool check: every problem of the settings and the servers, at once."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import Any

from queuepool.cli.arguments import add_json
from queuepool.cli.commands.acl import ADMIN, variable
from queuepool.cli.display import output
from queuepool.cli.exits import Exit
from queuepool.cli.inspection import keyspace
from queuepool.cli.inspection.probes import Trouble, functions, probe
from queuepool.errors import ConfigurationError, QueuePoolError
from queuepool.settings.config import PoolConfig
from queuepool.verbs.acl import ROLES
from queuepool.verbs.producer import confirm

_PINGS = 20
_SLOW_S = 0.01
_SKEW_S = 5.0
_NEARLY_FULL, _FULL = 0.80, 0.95  # shares of maxmemory
_RIGHTS = (
    "The check needs the rights of `ops`: `queuepool acl` prints them, docs/security.md explains "
    "them; producers, consumers and coordinators do with less"
)
OTHER_VARIABLES = frozenset((
    "QUEUEPOOL_GRPC", "QUEUEPOOL_GRPC_TOKEN", "QUEUEPOOL_GRPC_CA", "QUEUEPOOL_GRPC_CERT",
    "QUEUEPOOL_GRPC_KEY", "QUEUEPOOL_REDIS_SERVER", *map(variable, (*ROLES, ADMIN)),
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. level: ok, warning or error. where: settings, or a server."""

    level: str
    where: str
    text: str


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool check`."""
    parser.set_defaults(run=run)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Print what was found; fail when anything is an error."""
    from queuepool.settings.environment import load_pool_config

    findings = list(unknown_variables(os.environ))
    unreachable = False
    try:
        config = load_pool_config()
    except ConfigurationError as error:
        findings += [Finding("error", "settings", line) for line in error.problems]
    else:
        findings.append(Finding("ok", "settings", _describe(config)))
        for name, url in config.topology.servers.items():
            found = inspect(name, url, config)
            unreachable = unreachable or any("does not answer" in f.text for f in found)
            findings += found
        findings += starmap(Finding, keyspace.judge(config))
    errors = [f for f in findings if f.level == "error"]
    if arguments.json:
        output.print_json({"ok": not errors, "findings": [asdict(f) for f in findings]})
    else:
        _print(findings)
    if not errors:
        return Exit.OK
    if unreachable:
        return Exit.UNAVAILABLE
    return Exit.USAGE if all(f.where == "settings" for f in errors) else Exit.FAILED


def _print(findings: list[Finding]) -> None:
    for f in findings:
        output.say(f"{f.level:<8}{f.where}: {f.text}")
    counts = [(level, sum(f.level == level for f in findings)) for level in ("error", "warning")]
    output.say(
        ", ".join(f"{n} {level}{'s' * (n != 1)}" for level, n in counts if n) or "all is well"
    )


def _describe(config: PoolConfig) -> str:
    names = ", ".join(config.topology.servers)
    space = config.keyspace
    count = config.topology.partitions
    return f"{count} partitions on {names}, stage {space.stage}, queue {space.queue}"


def unknown_variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a warning for each QUEUEPOOL_* variable that nothing reads: a typing mistake."""
    from queuepool.settings.environment import QueuePoolSettings

    known = {f"QUEUEPOOL_{name.upper()}" for name in QueuePoolSettings.model_fields}
    for name in sorted(environment):
        if name.upper().startswith("QUEUEPOOL_") and name.upper() not in known | OTHER_VARIABLES:
            yield Finding("warning", "settings", f"{name} is set, but no setting has this name")


def inspect(name: str, url: str, config: PoolConfig) -> list[Finding]:
    """Return everything that is to be said of one server."""
    import redis

    from queuepool.servers import tls, wire
    from queuepool.servers.local_faults import local_error

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
    except redis.AuthenticationError as error:
        return [Finding("error", where, f"refuses the password: {error}. Fix QUEUEPOOL_URL")]
    except redis.exceptions.NoPermissionError as error:
        return [Finding("error", where, f"{output.clean(str(error))}. {_RIGHTS}")]
    except redis.ResponseError as error:  # it answers, so starting it is no remedy
        return [Finding("error", where, f"refuses: {output.clean(str(error))}")]
    except wire.FAILURES as error:
        ours = local_error(where, error)
        if ours is not None:
            return [Finding("error", where, str(ours))]
        problem = output.clean(f"{type(error).__name__}: {error}")
        remedy = tls.remedy(error) or "start it, or fix QUEUEPOOL_URL"
        remedy = remedy[0].upper() + remedy[1:]
        return [Finding("error", where, f"does not answer ({problem}). {remedy}")]
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # of reading an answer
        kind = type(error).__name__
        return [Finding("error", where, f"answers what no Redis does ({kind}). Fix QUEUEPOOL_URL")]


def _cluster(name: str, url: str, base: bytes, timeout_s: float) -> Iterator[Finding]:
    """Yield what is to be said of each primary; functions are tried on the one that has `base`."""
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
    """Yield whether the server confirms a write as the setting asks; nothing for `fast`."""
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
        text = f"confirms writes as QUEUEPOOL_DURABILITY={wanted.durability} asks"
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
                f"{_name(info)} cannot do what queuepool needs: {', '.join(missing)}. "
                "Use Redis 7.0 or newer, or Valkey"
            ),
        )
    if forbidden:
        name = client.get_connection_kwargs().get("username")
        user = info.get("user", f"user {name}" if name else "this user")
        yield (
            "error",
            (f"{user} may not call {', '.join(forbidden)} on {base.decode()}:*. {_RIGHTS}"),
        )
    for failure in failures:
        if failure.trouble is Trouble.OTHER:
            yield "error", f"{failure.function} failed: {output.clean(failure.text)}"
    if not failures:
        yield "ok", f"{_name(info)} knows and allows every function that is used"
    yield from judge_info(info, cluster=cluster)
    yield from _timing(client)


def _info(client: Any) -> dict[str, Any]:
    import redis

    known: dict[str, Any] = {}
    # Managed services forbid some of it; what is left is enough for the rest.
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


def _name(info: Mapping[str, Any]) -> str:
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info['redis_version']}" if "redis_version" in info else "version unknown"


def judge_info(info: Mapping[str, Any], *, cluster: bool) -> Iterator[tuple[str, str]]:
    """Yield (level, text) for what INFO tells. Pure."""
    if not info:
        yield "warning", "INFO is not allowed, so eviction and persistence cannot be checked"
        return
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield (
            "error",
            (
                f"maxmemory-policy is {policy}: a full server would silently delete jobs. "
                "Set: CONFIG SET maxmemory-policy noeviction (and in its configuration file)"
            ),
        )
    if info.get("role", "master") != "master":
        yield "error", "it is a replica and takes no writes; name the primary in QUEUEPOOL_URL"
    if info.get("cluster_enabled") and not cluster:
        yield (
            "error",
            (
                "it is a node of a cluster, but the URL is not; write redis+cluster:// instead of redis://"
            ),
        )
    yield from _judge_memory(info)
    if not info.get("maxmemory") and info.get("total_system_memory"):
        yield "ok", "maxmemory is not set: QUEUEPOOL_MAX_BYTES bounds what a partition may hold"
    if not info.get("aof_enabled"):
        snapshots = info.get("config_save", "")
        kept = "only snapshots are kept" if snapshots else "nothing is written to disk"
        yield (
            "warning",
            (
                f"appendonly is off and {kept}: a restart of the server loses jobs. "
                "Set: CONFIG SET appendonly yes (and in its configuration file)"
            ),
        )
    elif info.get("aof_last_write_status") == "err":
        yield "error", "the append-only file cannot be written; is its disk full?"
    if info.get("loading"):
        yield "warning", "it is loading its data; it answers when that is done"


def _judge_memory(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    limit = info.get("maxmemory") or 0
    used = (info.get("used_memory") or 0) - (info.get("mem_not_counted_for_evict") or 0)
    if limit and used >= _NEARLY_FULL * limit:
        yield (
            "error" if used >= _FULL * limit else "warning",
            (
                f"{used / limit:.0%} of maxmemory is used ({used / 2**20:,.0f} of "
                f"{limit / 2**20:,.0f} MiB): when it is full, producers are refused. Raise "
                "maxmemory, let workers catch up, or see what else fills it (`queuepool status`)"
            ),
        )
    elif limit:
        yield "ok", f"{used / limit:.0%} of maxmemory is used ({limit / 2**20:,.0f} MiB)"
    if info.get("lazy_expire") == "no":
        yield (
            "ok",
            (
                "lazyfree-lazy-expire is no: the server frees large keys that expire while others "
                "wait. Better: CONFIG SET lazyfree-lazy-expire yes (and in its configuration file)"
            ),
        )


def _timing(client: Any) -> Iterator[tuple[str, str]]:
    import redis

    times = []
    try:
        for _ in range(_PINGS):
            started = time.perf_counter()
            seconds, microseconds = client.time()
            times.append(time.perf_counter() - started)
    except redis.exceptions.NoPermissionError:
        return  # told among the functions that are missing
    middle_s = statistics.median(times)
    level = "warning" if middle_s > _SLOW_S else "ok"
    remark = ". Run consumers nearer to it" if middle_s > _SLOW_S else ""
    yield level, f"answers in {middle_s * 1000:.2f} ms (median of {_PINGS}){remark}"
    skew_s = time.time() - (seconds + microseconds / 1e6)
    if abs(skew_s) > _SKEW_S:
        yield (
            "warning",
            (
                f"its clock is {abs(skew_s):.1f} s {'behind' if skew_s > 0 else 'ahead of'} this "
                "machine's: jobs with a run-at time start that much off. Synchronise the clocks"
            ),
        )
