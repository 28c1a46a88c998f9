"""Jobs that kill their consumer among jobs that do not: a small simulation over the real core.

python -m tests.unit.consumer.core.poisoned     the figures of docs/reliability.md
"""

import random
import sys
from collections import Counter
from dataclasses import dataclass, field

from consumer.core.jobs import ClaimedJob
from tests.unit.consumer.core.world import LEASE_S, World

_SEEDS = 20


@dataclass
class Ward:
    """One partition: what each job takes, and which of them kill after how long."""

    world: World
    job_s: dict[bytes, float] = field(default_factory=dict)
    fuse_s: dict[bytes, float] = field(default_factory=dict)
    crashes: int = 0
    charged: Counter[bytes] = field(default_factory=Counter)  # by the crashes they were begun in
    busy_s: float = 0.0  # until everything ended, without the time that the leases took
    begun: list[tuple[float, bytes]] = field(default_factory=list)

    def run(self) -> None:
        """Run until nothing is left."""
        began_s = self.world.now
        while self._live():
            self._step()
        self.busy_s = self.world.now - began_s - self.crashes * (LEASE_S + 0.1)

    @property
    def dead(self) -> set[bytes]:
        return {job_id for _, job_id in self.world.data.dead.entries()}

    @property
    def innocents_dead(self) -> int:
        return len(self.dead - set(self.fuse_s))

    def _live(self) -> bool:
        return len(self.world.data.jobs) > len(self.world.data.dead)

    def _step(self) -> None:
        world = self.world
        if world.core.due_s(world.now) <= 0:
            world.turn()
        self._begin()
        at_s, job, kills = min(
            map(self._end_of, self._running()), key=lambda end: end[0], default=(1e18, None, False)
        )
        due_s = world.now + world.core.due_s(world.now)
        if job is None or due_s < at_s:
            world.clock.advance(max(0.0, due_s - world.now))
        elif kills:
            world.clock.advance(max(0.0, at_s - world.now))
            self.crashes += 1
            self.charged.update(j.id for j in self._running())
            world.crash()
        else:
            world.clock.advance(max(0.0, at_s - world.now))
            world.end([job], took_s=self.job_s[job.id])

    def _running(self) -> list[ClaimedJob]:
        return [job for job in self.world.running if job.started_s]

    def _begin(self) -> None:
        world, running = self.world, self._running()
        waiting = [job for job in world.running if not job.started_s]
        for job in waiting[: max(0, world.core.target - len(running))]:
            job.started_s = world.now
        for job in self._running()[len(running) :]:
            self.begun.append((world.now, job.id))

    def _end_of(self, job: ClaimedJob) -> tuple[float, ClaimedJob | None, bool]:
        fuse_s = self.fuse_s.get(job.id)
        return job.started_s + (self.job_s[job.id] if fuse_s is None else fuse_s), job, bool(fuse_s)


def ward(
    seed: int,
    *,
    innocents: int,
    poisons: int,
    job_s: float,
    fuse_s: float = 0.001,
    workers: int = 8,
    prefetch: int = 400,
) -> Ward:
    """Return a partition whose poison jobs stand anywhere among the others."""
    dice = random.Random(seed)
    made = Ward(World(workers=workers, prefetch=prefetch))
    ids = made.world.enqueue(innocents + poisons)
    for job_id in ids:
        made.job_s[job_id] = job_s * dice.uniform(0.5, 1.5)
    for job_id in dice.sample(ids, poisons):
        made.fuse_s[job_id] = fuse_s * dice.uniform(0.5, 1.5)
    return made


def main() -> None:
    """Print how many innocent jobs died, by how many poison jobs stood among them."""
    sys.stdout.write("| jobs of | killed after | 1 | 2 | 5 | 20 | crashes for each | most |\n")
    for job_s in (0.02, 0.5, 5.0, 60.0):
        for fuse_s in (0.001, 0.5, 5.0):
            _print(job_s, fuse_s)


def _print(job_s: float, fuse_s: float) -> None:
    died, for_each, most = [], [], 0
    for poisons in (1, 2, 5, 20):
        wards = [
            ward(seed, innocents=400, poisons=poisons, job_s=job_s, fuse_s=fuse_s)
            for seed in range(_SEEDS)
        ]
        for one in wards:
            one.run()
            most = max(most, *(one.charged[i] for i in one.fuse_s))
        died.append(f"{sum(one.innocents_dead for one in wards) / _SEEDS:g}")
        for_each.append(sum(one.crashes for one in wards) / _SEEDS / poisons)
    crashes = f"{min(for_each):.2f} to {max(for_each):.2f}"
    cells = [f"{job_s:g} s", f"{fuse_s:g} s", *died, crashes, str(most)]
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
