"""Do groups and jobs get what they ask for? Follows the calls, as the server executed them. Pure.

It knows nothing but calls, replies and ends, so it keeps its own account of who runs, who holds a
unique key and what is held. A job is in flight from its claim until its owner reports it or it is
recovered: what a dead owner runs counts until then.

I12       a group or tenant in flight with more jobs than it may; a serial group out of order, or
          overlapping
I14       a unique key held by two live jobs, or by one that is none
I19       a claim of held work, or a start later than a turn after the hold; jobs whose owner died
          are not timed, as they may wait longer in memory (consumer.core.suspects)
Expired   a job claimed too late, or ended too soon, or although it had started
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from queuepool.verbs import is_fenced
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer.verbs import Conflicts, read_enqueue
from tests.simulation.accounts import Job, Settings
from tests.simulation.journal import Execution, Journal, Record

_CLOCKS_S = 0.003  # how far the clock of a real server may be from ours


@dataclass(slots=True)
class Follower:
    """Follows the records of a journal; violations are sentences."""

    journal: Journal
    turn_s: float  # within which what was claimed before a hold begins
    jobs: dict[bytes, Job] = field(default_factory=dict)
    lanes: defaultdict[tuple[bytes, bytes], list[Job]] = field(
        default_factory=lambda: defaultdict(list)
    )
    groups: defaultdict[bytes, Settings] = field(default_factory=lambda: defaultdict(Settings))
    tenants: defaultdict[bytes, Settings] = field(default_factory=lambda: defaultdict(Settings))
    partition: Settings = field(default_factory=Settings)
    holders: dict[bytes, bytes] = field(default_factory=dict)
    begun: list[Execution] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    _claims: int = 0

    def follow(self) -> None:
        """Read all records, and the executions between them."""
        executions = iter(self.journal.executions)
        execution = next(executions, None)
        for place, record in enumerate(self.journal.records or ()):
            while execution is not None and execution.after <= place:
                self._start(execution)
                execution = next(executions, None)
            self._read(record)
        while execution is not None:
            self._start(execution)
            execution = next(executions, None)
        stored = self.journal.unique
        if stored is not None and stored != self.holders:
            self._wrong(f"I14: keys are left, or lost, at the end: {stored}, not {self.holders}")

    @property
    def held(self) -> set[bytes]:
        """Return the live jobs of held groups, but for those in flight."""
        waiting = [job for job in self.jobs.values() if job.alive and job.epoch is None]
        return {job.job_id for job in waiting if self.groups[job.group].held_s is not None}

    def _read(self, record: Record) -> None:
        for job_id, state in record.ended:
            self._end(record, job_id, state)
        if is_fenced(record.reply) or isinstance(record.reply, Exception):
            return
        if read := _READERS.get(record.verb.script):
            read(self, record)

    def _wrong(self, text: str) -> None:
        self.violations.append(text)

    # -- calls -------------------------------------------------------------------------------------

    def _enqueue(self, record: Record) -> None:
        answer = read_enqueue(record.reply)
        if not isinstance(answer, (bytes, Conflicts)):
            return
        status = answer.status if isinstance(answer, Conflicts) else answer
        by = iter(answer.by if isinstance(answer, Conflicts) else ())
        args = [_raw(arg) for arg in record.verb.args]
        end = len(args) - int(args[4])
        wishes = {int(args[k]): args[k + 1 : k + 5] for k in range(end, len(args), 5)}
        place, i = 0, 6
        while i < end:
            n = int(args[i + 3])
            for job_id in args[i + 4 : i + 4 + 2 * n : 2]:
                place += 1
                wish = wishes.get(place, [b"", b"", b"0", b""])
                due_s = record.at_s + int(wish[2]) / 1000 if int(wish[2]) else None
                if status[place - 1 : place] == b"1":
                    delayed = int(args[i + 2]) > 0
                    job = Job(job_id, (args[i], args[i + 1]), delayed, due_s)
                    self._accept(job, wish[0][:1], wish[1])
                elif status[place - 1 : place] in (b"2", b"3"):
                    replaced = status[place - 1 : place] == b"3"
                    self._keep_out(
                        record.at_s, job_id, next(by), wish[1], replaced=replaced, due_s=due_s
                    )
            i += 4 + 2 * n

    def _accept(self, job: Job, until: bytes, key: bytes) -> None:
        self.jobs[job.job_id] = job
        self.lanes[job.lane].append(job)
        if until:
            if key in self.holders:
                self._wrong(
                    f"I14: {job.job_id!r} was accepted while {self.holders[key]!r} has its unique "
                    f"key {key!r}"
                )
            job.key = until + key
            self.holders[key] = job.job_id

    def _keep_out(
        self,
        at_s: float,
        job_id: bytes,
        by: bytes,
        key: bytes,
        *,
        replaced: bool,
        due_s: float | None,
    ) -> None:
        self.journal.seen["replaced" if replaced else "conflict"] += 1
        if self.holders.get(key) != by:
            self._wrong(f"I14: {job_id!r} was kept out by {by!r}, which has not its key {key!r}")
        elif replaced and self.jobs[by].epoch is None:
            self.jobs[by].due_s, self.jobs[by].since_s = due_s, at_s

    def _configure(self, record: Record) -> None:
        name, _version, *given = [_raw(arg) for arg in record.verb.args]
        if record.reply < 0:
            return
        settings = dict(zip(given[::2], given[1::2], strict=True))
        if not name:
            self.partition.hold(record.at_s, on=settings[b"hold"] == b"1")
            return
        group = self.groups[name]
        if b"hold" in settings:
            group.hold(record.at_s, on=bool(settings[b"hold"]))
        if b"max" in settings:
            group.most = int(settings[b"max"] or 0)
        if b"serial" in settings:
            group.serial = bool(settings[b"serial"])
        for job in self.jobs.values():  # what was retried before loses its place
            job.loose = job.loose or (job.group == name and job.claim[0] > 0 and not group.serial)

    def _configure_tenant(self, record: Record) -> None:
        name, _version, *given = [_raw(arg) for arg in record.verb.args]
        settings = dict(zip(given[::2], given[1::2], strict=True))
        if b"hold" in settings:
            self.tenants[name].hold(record.at_s, on=bool(settings[b"hold"]))
        if b"max" in settings:
            self.tenants[name].most = int(settings[b"max"] or 0)

    def _claim(self, record: Record) -> None:
        claims: own.Claims = record.verb.read(record.reply)
        epoch, starting = int(_raw(record.verb.args[1])), int(_raw(record.verb.args[3]))
        for n, job_id in enumerate(claims.ids):
            job = self.jobs[job_id]
            group = self.groups[job.group]
            if self._held_since_s(job) is not None:
                self._wrong(f"I19: {job_id!r} was claimed at {record.at_s:.3f} while it was held")
            if job.due_s is not None and record.at_s > job.due_s + _CLOCKS_S:
                self._wrong(f"expired: {job_id!r} was claimed {record.at_s - job.due_s:.3f} s late")
            self._check_order(job)
            self._claims += 1
            job.loose = job.loose or not group.serial
            job.epoch, job.claim = epoch, (self._claims, group.room)
            crashes = claims.crashes[n] if claims.crashes else None
            if crashes == b"0" or (crashes is None and n < starting):
                self._note_start(job)
        claimed = [self.jobs[job_id] for job_id in claims.ids]
        flying = [job for job in self.jobs.values() if job.epoch]
        for name in {job.group for job in claimed}:
            in_flight = [job.job_id for job in flying if job.group == name]
            self._check_room(name, self.groups[name], in_flight, record.at_s)
        for name in {job.tenant for job in claimed if job.tenant}:
            in_flight = [job.job_id for job in flying if job.tenant == name]
            self._check_room(name, self.tenants[name], in_flight, record.at_s)

    def _check_room(
        self, name: bytes, settings: Settings, in_flight: list[bytes], at_s: float
    ) -> None:
        if len(in_flight) > settings.room:
            self._wrong(
                f"I12: {name!r} has {len(in_flight)} jobs in flight at {at_s:.3f}, and "
                f"may have {settings.room}: {in_flight}"
            )

    def _check_order(self, job: Job) -> None:
        for earlier in self.lanes[job.lane] if self.groups[job.group].serial else ():
            if earlier is job:
                return
            if earlier.alive and not (earlier.loose or earlier.delayed):
                self._wrong(
                    f"I12: {job.job_id!r} of serial {job.group!r} overtook {earlier.job_id!r}"
                )

    def _started(self, record: Record) -> None:
        epoch = int(_raw(record.verb.args[1]))
        for arg in record.verb.args[2:]:
            job = self.jobs.get(_raw(arg))
            if job is not None and job.epoch == epoch:
                self._note_start(job)

    def _retry(self, record: Record) -> None:
        epoch, args = int(_raw(record.verb.args[1])), [_raw(arg) for arg in record.verb.args[2:]]
        for k, status in enumerate(bytes(record.reply)):
            if status == ord("r"):
                job = self.jobs[args[5 * k]]
                if job.epoch == epoch:
                    job.epoch = None
                if not args[5 * k + 2].startswith(b":"):
                    self._note_start(job)

    def _hand_back(self, record: Record) -> None:
        epoch = int(_raw(record.verb.args[1]))
        for arg in record.verb.args[2::2]:
            job = self.jobs.get(_raw(arg))
            if job is not None and job.epoch == epoch:
                job.epoch = None

    def _recover(self, record: Record) -> None:
        for job in self.jobs.values():
            if job.epoch is not None and job.epoch == record.recovering:
                job.epoch, job.crashed = None, True

    # -- jobs --------------------------------------------------------------------------------------

    def _note_start(self, job: Job) -> None:
        job.due_s = None
        if job.key[:1] == b"s":
            self.journal.seen["freed at its start"] += 1
            self._free(job)

    def _free(self, job: Job) -> None:
        if self.holders.get(job.key[1:]) == job.job_id:
            del self.holders[job.key[1:]]
        job.key = b""

    def _end(self, record: Record, job_id: bytes, state: str) -> None:
        job = self.jobs[job_id]
        if state == "expired":
            self.journal.seen["expired"] += 1
            if job.due_s is None or record.at_s < job.due_s - _CLOCKS_S:
                self._wrong(
                    f"expired: {job_id!r} ended so at {record.at_s:.3f}, to start by {job.due_s}"
                )
            begun = (e for e in self.begun if e.job_id == job_id and e.start_s >= job.since_s)
            if any(self._is_valid(e, record.at_s) for e in begun):
                self._wrong(f"expired: {job_id!r} ended so, and it had begun")
        job.alive, job.epoch = False, None
        self._free(job)

    def _held_since_s(self, job: Job) -> float | None:
        levels = [self.partition, self.groups[job.group]]
        if job.tenant:
            levels.append(self.tenants[job.tenant])
        times = (settings.held_s for settings in levels)
        return min((at_s for at_s in times if at_s is not None), default=None)

    def _is_valid(self, execution: Execution, at_s: float) -> bool:
        # Whether it was under an ownership that was not over by then.
        return self.journal.lost_s.get(execution.epoch, at_s + 1) > at_s

    def _start(self, execution: Execution) -> None:
        """Compare with what runs already; what a fenced owner still runs does not count."""
        disturbed = self.journal.disturbed
        job = self.jobs.get(execution.job_id)
        if job is None or job.epoch != execution.epoch or job.job_id in disturbed:
            return
        now_s = execution.start_s
        others = [
            self.jobs[e.job_id]
            for e in self.begun
            if e.runs_at(now_s)
            and self.jobs[e.job_id].group == job.group
            and self._is_valid(e, now_s)
        ]
        self.begun.append(execution)
        since_s = self._held_since_s(job)
        if since_s is not None and now_s - since_s > self.turn_s and not job.crashed:
            self._wrong(
                f"I19: {job.job_id!r} began {now_s - since_s:.3f} s after it was held, which is "
                f"later than a turn of {self.turn_s} s"
            )
        _, room = max(j.claim for j in (job, *others))
        if len(others) >= room:
            self._wrong(
                f"I12: {job.job_id!r} of {job.group!r} began at {now_s:.3f}, when as many ran as "
                f"may ({room}): {[j.job_id for j in others]}"
            )


_READERS: dict[str, Callable[[Follower, Record], None]] = {
    "enqueue": Follower._enqueue,
    "configure": Follower._configure,
    "configure_tenant": Follower._configure_tenant,
    "claim": Follower._claim,
    "start": Follower._started,
    "retry": Follower._retry,
    "hand_back": Follower._hand_back,
    "recover": Follower._recover,
}


def _raw(arg: object) -> bytes:
    return arg if isinstance(arg, bytes) else str(arg).encode()
