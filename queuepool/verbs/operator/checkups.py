"""What the doctor asks besides `observe`: of a partition, and of a server. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from queuepool.errors import UnavailableError
from queuepool.errors.escaping import id_text
from queuepool.models.doctor import Checkup, Held, Refusal, Running, ServerFigures, Waiting
from queuepool.verbs import Verb

SEATS = 20  # of each tier: 80 lanes take a server less time than one `observe`
_SECTIONS = (
    "server", "memory", "persistence", "stats", "replication", "keyspace", "cluster", "cpu",
)  # fmt: skip
_KEYS = re.compile(r"keys=(\d{1,15}),expires=(\d{1,15})")
_OFFSET = re.compile(r"offset=(\d{1,18})")
_LAG = re.compile(r"lag=(\d{1,9})")
_SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
_NUMBER = re.compile(r"-?\d{1,18}")


def checkup() -> Verb[Checkup]:
    """Return what the doctor looks at in a partition, in constant time."""

    def read(r: Any) -> Checkup:
        now_ms, running, lanes, groups, group, tenant, sample = r
        return Checkup(
            now_ms=now_ms,
            running=(id_text(running[0]), running[1]) if running else None,
            lanes=lanes,
            groups=tuple(Waiting(groups[i], groups[i + 1]) for i in range(0, len(groups), 2)),
            held_group=Held(group[0], group[1]) if group else None,
            held_tenant=Held(tenant[0], tenant[1]) if tenant else None,
            sample=tuple(
                Running(int(slot, 16), group)
                for slot, group in zip(sample[::2], sample[1::2], strict=True)
            ),
        )

    return Verb("checkup", [SEATS], read)


def figures(name: str) -> Verb[ServerFigures]:
    """Return what the server that gets this tells of itself; `name` is its name."""

    def read(r: Any) -> ServerFigures:
        text = r.decode("utf-8", "replace") if isinstance(r, bytes) else str(r)
        pairs = (line.partition(":") for line in text.splitlines() if line[:1] != "#")
        return _read_figures(name, {field: value for field, _, value in pairs})

    return Verb("", ["INFO", *_SECTIONS], read)


def refusal(reply: object) -> Refusal | None:
    """Return why a server refuses every write, by its reply to a script that might write.

    It rejects such a script before its first line, whatever that would do.
    """
    if not isinstance(reply, UnavailableError):
        return None
    # The client makes an error of its own of one of these words.
    words = str(reply).replace("ReadOnlyError", Refusal.REPLICA).replace(":", " ").split()
    return next((kind for kind in Refusal if kind in words), None)


def _read_figures(name: str, info: Mapping[str, str]) -> ServerFigures:
    spaces = [_KEYS.match(value) for field, value in info.items() if field[:2] == "db"]
    known = [match for match in spaces if match]
    replicas = [value for field, value in info.items() if re.fullmatch(r"slave\d+", field)]
    written = _number(info, "master_repl_offset")
    behind = [max(0, written - int(at[1])) for at in map(_OFFSET.search, replicas) if at]
    appendonly = info.get("aof_enabled")
    return ServerFigures(
        name=name,
        run_id=info.get("run_id", ""),
        up_s=_number(info, "uptime_in_seconds"),
        clustered=info.get("cluster_enabled") == "1",
        used=max(0, _number(info, "used_memory") - _number(info, "mem_not_counted_for_evict")),
        limit=_number(info, "maxmemory"),
        policy=info.get("maxmemory_policy", ""),
        evicted=_number(info, "evicted_keys"),
        keys=sum(int(match[1]) for match in known),
        expiring=sum(int(match[2]) for match in known),
        appendonly=None if appendonly is None else appendonly == "1",
        write_error=appendonly == "1" and info.get("aof_last_write_status") == "err",
        replicas=len(replicas),
        behind=max(behind, default=0),
        cpu_s=_cpu_s(info),
        calls=_number(info, "total_commands_processed"),
        silent_s=max((int(lag[1]) for lag in map(_LAG.search, replicas) if lag), default=0),
    )


def _cpu_s(info: Mapping[str, str]) -> float:
    """Return the CPU seconds of the thread that runs scripts; of all threads if it tells no more.

    0: it tells nothing.
    """
    for of in ("_main_thread", ""):
        parts = [info.get(f"used_cpu_{kind}{of}", "") for kind in ("sys", "user")]
        if all(map(_SECONDS.fullmatch, parts)):
            return sum(map(float, parts))
    return 0.0


def _number(info: Mapping[str, str], field: str) -> int:
    text = info.get(field, "")
    return int(text) if _NUMBER.fullmatch(text) else 0
