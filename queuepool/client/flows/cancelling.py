"""Cancels batches and flows with all that is in them. As steps for both pools.

    records, level by level          nothing is let go any more, and nothing is added
    jobs, in one look at each place  those that wait end, those that run are asked to stop

Invariants
- The batches in one are listed after its record is cancelled: from then on none is added to it, and
  who opens one that was listed already cancels it himself.
- No job is looked for before all records are cancelled: one look finds those of all batches.
- Whoever adds jobs to a batch looks afterwards whether it was cancelled meanwhile, and then cancels
  it again: the first look may have passed before they came.
- A server that is away keeps no jobs of others waiting: it raises once the others were asked.
- Whatever ended a call halfway, the same call again does the rest: it goes by what is there, not by
  what it changes.
- A job counts once, however often it is looked at: one that runs, when it is first asked to stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from queuepool.client.batching import ask_home
from queuepool.client.effects import Follow, Pause, Steps
from queuepool.client.flows.homes import ask_homes
from queuepool.client.questions import ask
from queuepool.client.reachable import ask_reachable
from queuepool.errors import InvalidInputError, UnavailableError
from queuepool.models.flows import BatchStatus
from queuepool.protocol.batches import is_batch, membership_of
from queuepool.protocol.graphs import Graph, read_graph
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.producer import pools
from queuepool.verbs.producer import verbs as produce

_AT_ONCE = 500  # batches whose jobs one look finds
_ROUNDS = 20
_MOVED_S, _MOVING_S = 0.01, 0.5  # before the next one


def cancel_all(config: PoolConfig, name: str) -> Steps[int]:
    """Cancel a batch, or the flow that it is of, and all that is in it; return how many jobs."""
    found, level, seen = list[str](), [name], {name}
    while level:
        own = yield from _cancel_records(config, level, seen)
        found += own
        level = sorted((yield from _inner_of(config, own)) - seen)
        seen.update(own, level)
    return (yield from _cancel_jobs(config, list(dict.fromkeys(found))))


def cancel_late(config: PoolConfig, name: str, jobs: int) -> Steps[None]:
    """Cancel so many jobs that were added to a batch while it was. Raises InvalidInputError."""
    said, cause = "those that have not ended are cancelled, too", None
    try:
        yield from cancel_all(config, name)
    except UnavailableError as error:
        said, cause = f"some may still run (cancel the batch again: {error})", error
    raise InvalidInputError(
        f"batch {name} was cancelled while jobs were added to it: {jobs:,} were enqueued, of which "
        f"{said}; no more were sent"
    ) from cause


def _cancel_records(config: PoolConfig, names: Sequence[str], seen: set[str]) -> Steps[list[str]]:
    """Cancel these, each with the flow that it is of; return the batches that have jobs."""
    plain, flows = yield from _told_apart(config, names)
    seen.update(flows)
    parts = [part for graph in flows.values() for step in graph.steps for part in step.gates]
    steps = [step.batch for graph in flows.values() for step in graph.steps]
    yield from _ask_each(config, flows)  # so that no gate concludes while the others wait
    yield from _ask_each(config, (*parts, *steps))
    concluded = yield from _ask_each(config, plain)
    # A continuation that is a job of a batch that is cancelled, too, ends with the others of that
    alone = [
        (name, job_id)
        for name, job_id in zip(plain, concluded, strict=True)
        if job_id and not ((of := membership_of(job_id)) and of.batch in seen)
    ]
    verbs = [(name, produce.cancel(job_id, produce.ANY_VERSION)) for name, job_id in alone]
    yield from ask_homes(config, verbs)
    return [*plain, *steps]


def _told_apart(
    config: PoolConfig, names: Sequence[str]
) -> Steps[tuple[list[str], dict[str, Graph]]]:
    """Return those of no flow, and the flows of the others."""
    statuses = dict(zip(names, (yield from _statuses(config, names)), strict=True))
    of = {
        name: status.within if status.within and status.part in ("s", "g") else name
        for name, status in statuses.items()
    }
    outer = sorted(set(of.values()) - statuses.keys())
    statuses.update(zip(outer, (yield from _statuses(config, outer)), strict=True))
    flows = dict[str, Graph]()
    for name in dict.fromkeys(of.values()):
        graph = read_graph(statuses[name].graph) if statuses[name].part == "f" else None
        if graph is not None:
            flows[name] = graph
    return [name for name in names if of[name] not in flows], flows


def _statuses(config: PoolConfig, names: Iterable[str]) -> Steps[list[BatchStatus]]:
    return ask_homes(config, [(name, flow.batch(name)) for name in names])


def _ask_each(config: PoolConfig, names: Iterable[str]) -> Steps[list[str]]:
    """Conclude batches as cancelled; return the ids of their continuations, "" of unknown ones."""
    done = yield from ask_homes(config, [(name, flow.cancel_batch(name)) for name in names])
    return [job_id for _state, job_id in done]


def _inner_of(config: PoolConfig, names: Sequence[str]) -> Steps[set[str]]:
    """Return the batches that jobs of these have added to them."""
    found, since = set[str](), config.topology.view.version
    pages = yield from ask_homes(config, [(name, flow.inner_batches(name)) for name in names])
    for name, (page, cursor) in zip(names, pages, strict=True):
        found.update(page, (yield from _further(config, name, cursor, since)))
    return set(filter(is_batch, found))


def _further(config: PoolConfig, name: str, cursor: bytes, since: int) -> Steps[set[str]]:
    """Return the batches in one from a cursor on, which was read by a version of the route.

    By another version the batch may be elsewhere, where the cursor means nothing: all are read.
    """
    found, at = set[str](), cursor
    while at != b"0":
        page, following = yield from ask_home(config, name, flow.inner_batches(name, at or b"0"))
        found.update(page)
        version = config.topology.view.version
        at, since = (following if version == since else b""), version
    return found


def _cancel_jobs(config: PoolConfig, names: Sequence[str]) -> Steps[int]:
    """Cancel the jobs of these batches, in all partitions.

    Jobs whose slot moves meanwhile may go from a partition that is still to be looked at to one
    that was, and stay while they are copied: it looks again, _ROUNDS times at most, until nothing
    has moved, or two looks in a row left none: what goes past one is found by the other. Raises
    UnavailableError if some may be left.
    """
    cancelled, left, is_second = 0, 0, False
    for _ in range(_ROUNDS):
        yield Follow()
        before = config.topology.view
        some, left = yield from _cancel_once(config, names)
        cancelled += some
        yield Follow()
        after = config.topology.view
        is_still = after.version == before.version and not after.moving
        if not left and (is_still or is_second):
            return cancelled
        is_second = not left
        yield Pause(_MOVING_S if after.moving else _MOVED_S)
    raise _on_the_way(cancelled, left)


def _on_the_way(cancelled: int, left: int) -> UnavailableError:
    jobs = f"{left:,} jobs are" if left else "some jobs may be"  # as they were a moment ago
    return UnavailableError(
        f"{jobs} still on the way to another partition, where they would run. {cancelled:,} jobs "
        "were cancelled or asked to stop: for the rest, call cancel() again"
    )


def _cancel_once(config: PoolConfig, names: Sequence[str]) -> Steps[tuple[int, int]]:
    """Return how many jobs were cancelled, and how many stay since they are being copied.

    Raises the UnavailableError of a server once all those that answer were asked.
    """
    cancelled = left = 0
    topology, own, away = config.topology, config.keyspace.pool, dict[str, UnavailableError]()
    wheres = [(number, own) for number in topology.view.numbers]
    pools_of = yield from ask_reachable(config, wheres, lambda _: pools.look())
    for number, _ in wheres:
        server = topology.server_of(number)
        try:
            if server not in away:
                others = pools_of.get((number, own))
                if others is None:
                    others = yield from ask(config, number, pools.look())
                for pool in (own, *others):
                    some, stay = yield from _cancel_in(config.of(pool), number, names)
                    cancelled, left = cancelled + some, left + stay
        except UnavailableError as error:
            away[server] = error
    for first in away.values():
        first.add_note(
            f"{cancelled:,} jobs on other servers were cancelled: for the rest, cancel it again"
        )
        raise first
    return cancelled, left


def _cancel_in(config: PoolConfig, number: int, names: Sequence[str]) -> Steps[tuple[int, int]]:
    cancelled = left = 0
    for i in range(0, len(names), _AT_ONCE):
        cursor, more = b"0", True
        while more:
            verb = flow.cancel_children(names[i : i + _AT_ONCE], cursor)
            cursor, gone, asked, stay = yield from ask(config, number, verb)
            cancelled, left, more = cancelled + gone + asked, left + stay, cursor != b"0"
    return cancelled, left
