"""F11: slots and partitions move under load, while leaders, owners and servers are killed.

    grow, shrink, to another server, one after the other; a producer never pauses
      each with its blows, at random steps: the version of the route record counts these
    an echo: another producer enqueues the same ids again, a while after the first one
    a third one enqueues batches over all partitions

At last everything that was accepted has run, each group in its order; nothing ran twice but what
ran in a consumer that was killed; what all places of all partitions counted adds up. Each batch was
continued by one job, which had all results.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from queuepool.cli.inspection.moving import Moves
from queuepool.errors import UnavailableError
from queuepool.partitions.partition import Partition
from queuepool.partitions.route import Leave
from queuepool.routing.moves import Stage, differing, table_of
from queuepool.routing.progress import Facts
from tests.chaos.checker import Books
from tests.chaos.disorder import disorder
from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import LEASE_S, engine, pause
from tests.chaos.sums import disagreement, names, sums
from tests.chaos.two_servers import TwoServers
from tests.integration.coordinator.cluster import Process, look

_ENDS_S = 120.0  # a move; it waits for every server that is away, and for each lease


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """How large a run is. batch: jobs of each. rate: jobs a second. blows: during each move.

    share: of the leader. ms: of a job.
    """

    before: int
    grown: int
    shrunk: int
    batch: int
    rate: int
    groups: int
    blows: int
    share: int
    ms: float


_QUICK = _Size(before=2, grown=3, shrunk=1, batch=10, rate=150, groups=30, blows=1, share=50, ms=3)
_WHOLE = _Size(
    before=8, grown=12, shrunk=6, batch=50, rate=2000, groups=200, blows=3, share=50, ms=0
)


class _World(TwoServers):
    """Two servers, a queue that begins on the first one, and who leads."""

    def __init__(self, directory: Path, size: _Size, binary: Path) -> None:
        placement = f"0-{size.before - 1}=main"
        super().__init__(directory, placement, partitions=size.before, binary=binary)
        self.size, self.coordinators = size, list[Process]()

    def __enter__(self) -> Self:
        super().__enter__()
        self.pool.route.read(Leave.RECORD)
        self.moves = Moves(self.pool)
        return self

    def places(self) -> Sequence[Partition]:
        """Return every place that there may have been, by the keys of its partition."""
        key = self.pool.config.keyspace.partition
        servers = self.pool.servers.items()
        return [Partition(n, key(n), port) for _, port in servers for n in range(self.size.grown)]

    def lead(self) -> None:
        """Start a coordinator more."""
        process = self.coordinator(
            policy="static",
            base_workers=1,
            max_workers=1,  # several that begin at once may write in any order
            workers=1,
            move_share=self.size.share,
        )
        self.coordinators.append(process)

    def leader(self) -> Process:
        """Wait until one of our coordinators leads; return that."""

        def leading() -> list[Process]:
            address = look(self.pool).address
            return [process for process in self.coordinators if process.grpc == address]

        self.until(leading, "a leader")
        return leading()[0]

    def books(self, ids: Iterable[str]) -> Books:
        """Return the final state. What has ended is not asked for: there may be many places."""
        ended = {run.job_id for run in self.events().runs if run.ended_ns is not None}
        return super().books(set(ids) - ended)

    def facts(self) -> Facts | None:
        """Return where the move stands; None while that cannot be read."""
        try:
            return self.moves.facts()
        except UnavailableError:
            return None

    # -- blows -----------------------------------------------------------------------------------

    def kill_leader(self) -> None:
        leader = self.leader()
        leader.kill()
        self.coordinators.remove(leader)
        self.lead()

    def kill_owner(self) -> None:
        pids = set(self.owners().values())
        owners = [process for process in self.consumers if process.pid in pids]
        self.strike(self.chosen(owners), signal.SIGKILL, takeover_s=None)
        self.consumer()

    def kill_server(self) -> None:
        server = self.chosen([self.server, self.big])
        server.kill()
        pause(self.chosen([0.0, LEASE_S / 2]))
        server.start()

    chosen: Callable[[Sequence[Any]], Any]


def _move(world: _World, ask: Callable[[], Facts], blows: Sequence[Callable[[], None]]) -> int:
    """Let a move begin, strike so often at random steps of it; return how many blows met it."""
    random_step, met = world.chosen, 0
    world.leader()
    facts = ask()
    begun, move = facts.record.version, facts.under_way
    ways = differing(table_of(facts.view), move.table()) if move else {}
    steps = sorted(random_step(range(2 * len(ways) + 1)) for _ in blows)

    def at(step: int) -> Callable[[], bool]:
        def is_so() -> bool:
            now = world.facts()
            return now is not None and (now.under_way is None or now.record.version >= begun + step)

        return is_so

    for step, blow in zip(steps, blows, strict=True):
        world.until(at(step), f"step {step} of the move", _ENDS_S)
        pause(random_step([0.0, 0.02, 0.1]))
        now = world.facts()
        met += now is not None and now.under_way is not None
        blow()

    def is_over() -> bool:
        now = world.facts()
        return now is not None and now.under_way is None

    world.until(is_over, "the end of the move", _ENDS_S)
    ended = world.moves.facts().move
    assert ended is not None
    assert ended.stage is Stage.ENDED, ended
    return met


def _run(trial: Trial) -> Result:
    size = _QUICK if trial.quick else _WHOLE
    with _World(trial.directory, size, engine(trial.number)) as world:
        world.chosen = trial.random.choice
        for _ in range(size.grown + 1):
            world.consumer(workers=1)
        for _ in range(2):
            world.lead()
        world.until(lambda: len(world.owners()) == size.before, "owners", 60)
        batch = max(1, size.rate // 20)
        options: dict[str, Any] = {
            "jobs": 10**7, "until": "enough", "batch": batch, "pause_s": batch / size.rate,
            "groups": size.groups, "ms": size.ms,
        }  # fmt: skip
        producers = [world.producer(**options)]
        world.until(lambda: world.count("done") > size.rate, "some jobs done")
        producers.append(world.producer(**options))
        producers.append(world.batcher(size=size.batch, pause_s=0.2, until="enough"))
        moved = trial.random.randrange(size.shrunk)
        asks: list[Callable[[], Facts]] = [
            lambda: world.moves.set_partitions(size.grown, on="main"),
            lambda: world.moves.set_partitions(size.shrunk),
            lambda: world.moves.move_to([moved], "big"),
        ]
        kinds = [world.kill_leader, world.kill_owner, world.kill_server]
        trial.random.shuffle(kinds)
        blows = [[kinds[(n + k) % 3] for k in range(size.blows)] for n in range(3)]
        met = sum(_move(world, ask, some) for ask, some in zip(asks, blows, strict=True))
        (trial.directory / "enough").touch()
        for producer in producers:
            producer.ends()
        events = world.events()
        world.drained(len(events.accepted), 120)
        batches = names(trial.directory)
        world.until(lambda: sums(trial.directory).keys() >= batches, "sums", 60)
        events = world.events()
        unordered = disorder(events.runs, world.strikes, groups=size.groups)
        verdict = world.verdict().also(unordered)
        return Result(
            verdict=verdict.also(disagreement(trial.directory, size.batch)),
            sums={"moves": 3, "blows": 3 * size.blows, "met it": met, "batches": len(batches)},
        )


FAULTS = [
    Fault(
        number="F11",
        name="8 -> 12 -> 6 partitions, one to another server; leaders, owners, servers killed",
        expected="0 lost; nothing twice but what ran at a kill; order of each group kept; "
        "each batch continued once",
        procedure=_run,
        runs=4,
    )
]
