"""Assesses a server's INFO: would it keep our jobs? Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NEARLY_FULL, _FULL = 0.80, 0.95  # shares of maxmemory


def name_of(info: Mapping[str, Any]) -> str:
    """Return what kind of server it is, and which version."""
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info['redis_version']}" if "redis_version" in info else "version unknown"


def judge_info(info: Mapping[str, Any], *, cluster: bool) -> Iterator[tuple[str, str]]:
    """Yield (level, text) for findings in INFO. Pure."""
    if not info:
        yield "warning", "INFO is not allowed, so eviction and persistence cannot be checked"
        return
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield (
            "error",
            (
                f"maxmemory-policy is {policy}: a full server would silently delete jobs. Run: "
                "CONFIG SET maxmemory-policy noeviction (and in its configuration file)"
            ),
        )
    if info.get("role", "master") != "master":
        yield (
            "error",
            "it is a read-only replica; set QUEUEPOOL_URL or QUEUEPOOL_SERVERS to the primary",
        )
    if info.get("cluster_enabled") and not cluster:
        yield (
            "error",
            (
                "it is a cluster node, but the URL is not a cluster URL; use redis+cluster:// "
                "instead of redis://"
            ),
        )
    yield from _judge_memory(info)
    if not info.get("maxmemory") and info.get("total_system_memory"):
        yield "ok", "maxmemory is not set: QUEUEPOOL_MAX_BYTES limits each partition"
    yield from _judge_persistence(info)
    if info.get("loading"):
        yield "warning", "it is loading its data, and responds when that is done"


def _judge_persistence(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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


def _judge_memory(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    limit = info.get("maxmemory") or 0
    used = (info.get("used_memory") or 0) - (info.get("mem_not_counted_for_evict") or 0)
    if limit and used >= _NEARLY_FULL * limit:
        yield (
            "error" if used >= _FULL * limit else "warning",
            (
                f"{used / limit:.0%} of maxmemory is used ({used / 2**20:,.0f} of "
                f"{limit / 2**20:,.0f} MiB): when it is full, enqueues are rejected. Raise "
                "maxmemory, let workers catch up, or find out what else uses it (`queuepool "
                "status`)"
            ),
        )
    elif limit:
        yield "ok", f"{used / limit:.0%} of maxmemory is used ({limit / 2**20:,.0f} MiB)"
    if info.get("lazy_expire") == "no":
        yield (
            "ok",
            (
                "lazyfree-lazy-expire is no: the server blocks while it frees large expired "
                "keys. Run: CONFIG SET lazyfree-lazy-expire yes (and in its configuration file)"
            ),
        )
