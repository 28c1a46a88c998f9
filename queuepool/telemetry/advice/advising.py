"""Advice in words: what is out of proportion, its figures, and the command that helps. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from queuepool.errors.escaping import key_text
from queuepool.models.advice import Advice, AdviceKind, Advised, Loads, Part
from queuepool.models.tenants import key_in
from queuepool.telemetry.advice.hot import Hot, hot_places, shift
from queuepool.telemetry.advice.servers import Crowded, crowded, short_of_processes
from queuepool.telemetry.doctor.observed import Observed
from queuepool.telemetry.doctor.rules.rule import lasting, named, size
from queuepool.telemetry.since import Since

PATIENCE_S = 120.0  # what lasts for less than minutes is over before anyone has acted
MOST = 20  # the rest follows when these are done
_NO_SERVER, _SPREAD = "NAME", 4


class AdviceWatch:
    """Advice on one look after another. patience_s: for how long it must be the same."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._since = Since[tuple[str, str]]()

    def advise(self, seen: Observed) -> Advised:
        """Return the advice after a look, with since when it holds."""
        loads = seen.loads or Loads(over_s=0.0)
        found = {(one.kind.value, one.subject): one for one in advise(loads)}
        self._since.note(found, seen.now_ms)
        old = tuple(
            replace(one, since_ms=self._since[key])
            for key, one in found.items()
            if seen.now_ms - self._since[key] >= self._patience_s * 1000
        )
        return Advised(at_ms=seen.now_ms, loads=loads, advice=old)


def advise(loads: Loads) -> tuple[Advice, ...]:
    """Return what to change, what helps most first; nothing when load is spread well."""
    found = [*_about_servers(loads), *_about_partitions(loads), *_about_processes(loads)]
    return tuple(found[:MOST])


def _about_partitions(loads: Loads) -> Iterator[Advice]:
    for hot in sorted(hot_places(loads), key=lambda hot: -hot.times):
        if hot.group is not None:
            yield _hot_group(hot, hot.group)
        elif (found := _hot_slots(hot, loads)) is not None:
            yield found


def _facts(hot: Hot) -> tuple[str, dict[str, float]]:
    place = hot.place
    what = (
        f"the jobs of partition {place.partition} want {place.wanted:.1f} workers, {hot.times:.1f} "
        f"times as many as those of others; {place.busy:.1f} of {place.workers} are busy, the "
        f"oldest job has waited for {lasting(place.wait_s)}, elsewhere {lasting(hot.elsewhere_s)}"
    )
    figures = {"partition": place.partition, "times": hot.times, "wanted_workers": place.wanted,
               "busy_workers": place.busy, "workers": place.workers, "wait_s": place.wait_s,
               "wait_elsewhere_s": hot.elsewhere_s, "came_per_s": place.came,
               "ended_per_s": place.ended}  # fmt: skip
    return what, figures


def _hot_group(hot: Hot, part: Part) -> Advice:
    what, figures = _facts(hot)
    return Advice(
        kind=AdviceKind.HOT_GROUP,
        subject=f"group {key_text(key_in(part.group))}",
        what=f"it takes {part.share:.0%} of the worker time of its partition; {what}",
        effect="a group has one partition, and so one process: no move of slots changes that. If "
        "the order of its jobs does not matter, jobs that are enqueued from now on can be spread",
        command=f"queuepool bulk --key {named(part.group)} --spread {_SPREAD} ..., or "
        f"enqueue_many(..., spread={_SPREAD})",
        figures=figures | {"share": part.share, "slot": part.slot},
    )


def _hot_slots(hot: Hot, loads: Loads) -> Advice | None:
    found, (what, figures) = shift(hot.place, loads.places), _facts(hot)
    if found is None:
        return None
    typed = ",".join(map(str, found.slots))
    many = "slots" if len(found.slots) > 1 else "slot"
    return Advice(
        kind=AdviceKind.HOT_SLOTS,
        subject=f"partition {hot.place.partition}",
        what=f"{what}; {many} {typed.replace(',', ', ')} have {found.share:.0%} of that",
        effect=f"partition {hot.place.partition} would have {found.after[0]:.1f} workers' work, "
        f"and partition {found.dest.partition} {found.after[1]:.1f} instead of "
        f"{found.before[1]:.1f}",
        command=f"queuepool move --slot {typed} --to-partition {found.dest.partition}",
        figures=figures | {"share": found.share, "to_partition": found.dest.partition,
                           "wanted_after": found.after[0], "wanted_there": found.after[1]},
        slots=found.slots,
        partition=found.dest.partition,
    )  # fmt: skip


def _about_servers(loads: Loads) -> Iterator[Advice]:
    for one in crowded(loads):
        server = one.server
        cpu = "" if server.cpu is None else f"{server.cpu:.0%} of a core, "
        numbers = ",".join(map(str, one.numbers))
        figures = {"cpu": server.cpu or 0.0, "calls_per_s": server.calls, "share": one.share,
                   "memory_used": server.used, "memory_limit": server.limit,
                   "memory_growth_per_s": server.growth}  # fmt: skip
        yield Advice(
            kind=AdviceKind.HOT_SERVER,
            subject=f"server {server.name}",
            what=f"its scripts take {cpu}{server.calls:,.0f} calls a second; {_memory(one)}; "
            f"partition {numbers.replace(',', ', ')} {'has' if len(one.numbers) == 1 else 'have'} "
            f"{one.share:.0%} of its {'jobs' if one.full_s is None else 'bytes'}",
            effect="each partition has its own server's time and memory: others have more left"
            if one.dest is not None
            else "no other server has room: name one in QUEUEPOOL_SERVERS of every process first",
            command=f"queuepool move {numbers} --to {one.dest or _NO_SERVER}",
            figures=figures,
        )


def _memory(one: Crowded) -> str:
    server = one.server
    if not server.limit:
        return f"it uses {size(server.used)}, without a limit"
    text = f"it uses {size(server.used)} of {size(server.limit)}"
    if one.full_s is not None and server.growth > 0:
        text += f", and is full in {lasting(one.full_s)}"
    return text


def _about_processes(loads: Loads) -> Iterator[Advice]:
    found, count = short_of_processes(loads), len(loads.places)
    if not found:
        return
    ended, wait_s = sum(place.ended for place in found), max(place.wait_s for place in found)
    yield Advice(
        kind=AdviceKind.MORE_PARTITIONS,
        subject="all partitions",
        what=f"in {len(found)} of {count} all workers are busy and more did not help, while the "
        f"oldest job has waited for {lasting(wait_s)}; they end {ended:,.0f} jobs a second",
        effect="a partition has one process, which uses little more than one core: with as many "
        "more consumers, twice the processes run. If a database or API behind the tasks is the "
        "bottleneck, nothing changes: `queuepool why` first",
        command=f"queuepool partitions set {2 * count}",
        figures={"partitions": count, "stuck": len(found), "ended_per_s": ended, "wait_s": wait_s},
    )
