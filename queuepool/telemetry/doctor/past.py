"""What the rules need of earlier looks, in bounded memory: a few numbers a place. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Set
from dataclasses import dataclass, field, replace

from queuepool.models.doctor import ServerFigures
from queuepool.telemetry.advice.loads import LoadHistory
from queuepool.telemetry.doctor.observed import Deaths, Observed, Past, Place
from queuepool.telemetry.doctor.rules.rule import DAY_S, HOUR_S, MINUTE_S

_EVERY_MS = MINUTE_S * 1000  # a sample of the totals
_RECENT_S = 5 * MINUTE_S  # deaths of late; those before, up to an hour
_KNOWN_PROCESSES = 10_000
_TAKEOVERS = 8  # remembered of a place


@dataclass(slots=True)
class _OfPlace:
    epoch: int
    recovered: int
    died: int
    ended: int
    takeovers: deque[int] = field(default_factory=lambda: deque(maxlen=_TAKEOVERS))


@dataclass(frozen=True, slots=True)
class _Sample:
    at_ms: int
    died: int
    ended: int


class Growth:
    """How much counters grew within a time. A counter that fell began again.

    What came within the same sixtieth of the time is one sum, and leaves it together.
    """

    def __init__(self, over_s: float) -> None:
        self._over_ms = round(over_s * 1000)
        self._last: dict[str, int] = {}
        self._grew: dict[str, deque[tuple[int, int]]] = {}  # (ms of the last, by how much)

    def add(self, name: str, count: int, at_ms: int) -> tuple[int, int]:
        """Take the next reading; return how much it grew within the time, and when last."""
        by = count - self._last.get(name, count)
        self._last[name] = count
        grew, part_ms = self._grew.setdefault(name, deque(maxlen=64)), self._over_ms // 60
        if by > 0:
            if grew and grew[-1][0] // part_ms == at_ms // part_ms:
                by += grew.pop()[1]
            grew.append((at_ms, by))
        while grew and at_ms - grew[0][0] > self._over_ms:
            grew.popleft()
        return sum(by for _, by in grew), grew[-1][0] if grew else 0

    @property
    def names(self) -> Set[str]:
        """Return the names of the counters."""
        return self._last.keys()

    def keep(self, names: set[str]) -> None:
        """Forget all others."""
        for gone in self._last.keys() - names:
            del self._last[gone], self._grew[gone]


def _node(server: ServerFigures) -> str:
    # The nodes of a cluster have one name, and each counts for itself.
    return f"{server.name}\n{server.run_id}" if server.clustered else server.name


class History:
    """Fed with each look, it tells what the rules need of earlier ones."""

    def __init__(self) -> None:
        self._began_ms = 0
        self._places: dict[str, _OfPlace] = {}
        self._processes: OrderedDict[str, None] = OrderedDict()
        self._died = self._ended = 0
        self._samples: deque[_Sample] = deque(maxlen=HOUR_S // MINUTE_S + 8)
        self._evicted, self._missed = Growth(HOUR_S), Growth(DAY_S)
        self._loads = LoadHistory()

    def add(self, seen: Observed) -> Observed:
        """Take a look; return it with what is known of the past."""
        self._began_ms = self._began_ms or seen.now_ms
        for place in seen.places:
            self._add_place(place, seen.now_ms)
        for gone in self._places.keys() - {place.name for place in seen.places}:
            del self._places[gone]
        self._sample(seen.now_ms)
        over_s = (seen.now_ms - self._began_ms) / 1000
        past = Past(
            over_s=over_s,
            deaths=self._deaths(seen.now_ms),
            takeovers={name: tuple(one.takeovers) for name, one in self._places.items()},
            evicted=self._evictions(seen),
            missed=self._misses(seen),
        )
        return replace(seen, past=past, loads=self._loads.add(seen))

    def _add_place(self, place: Place, now_ms: int) -> None:
        state = place.state
        if state is None:
            return
        count = state.counters.get
        died, ended = count("died", 0), count("done", 0) + count("died", 0)
        epoch = state.owner.epoch if state.owner is not None else 0
        now = _OfPlace(epoch, count("recovered", 0), died, ended)
        host = state.owner.host if state.owner is not None else ""
        is_new = bool(host) and self._is_new(host)
        last = self._places.get(place.name)
        self._places[place.name] = now
        if last is None:
            return
        now.takeovers.extend(last.takeovers)
        self._died += max(0, died - last.died)
        self._ended += max(0, ended - last.ended)
        if epoch != last.epoch and epoch and (is_new or now.recovered > last.recovered):
            now.takeovers.append(now_ms)

    def _is_new(self, host: str) -> bool:
        """Return whether this process was never seen as an owner."""
        known = host in self._processes
        self._processes[host] = None
        self._processes.move_to_end(host)
        while len(self._processes) > _KNOWN_PROCESSES:
            self._processes.popitem(last=False)
        return not known

    def _sample(self, now_ms: int) -> None:
        if not self._samples or now_ms - self._samples[-1].at_ms >= _EVERY_MS:
            self._samples.append(_Sample(now_ms, self._died, self._ended))

    def _deaths(self, now_ms: int) -> Deaths | None:
        recent = [one for one in self._samples if now_ms - one.at_ms >= _RECENT_S * 1000]
        if not recent:
            return None
        cut, first = recent[-1], self._samples[0]
        return Deaths(
            died=self._died - cut.died,
            ended=self._ended - cut.ended,
            over_s=(now_ms - cut.at_ms) / 1000,
            died_before=cut.died - first.died,
            ended_before=cut.ended - first.ended,
            before_s=(cut.at_ms - first.at_ms) / 1000,
        )

    def _evictions(self, seen: Observed) -> dict[str, int]:
        """Return the evictions of each server; those of the nodes of a cluster together."""
        nodes = {_node(server): server for server in seen.servers if not server.problem}
        away = {server.name for server in seen.servers if server.problem}
        self._evicted.keep(
            {*nodes, *(node for node in self._evicted.names if node.partition("\n")[0] in away)}
        )
        found: Counter[str] = Counter()
        for node, server in nodes.items():
            found[server.name] += self._evicted.add(node, server.evicted, seen.now_ms)[0]
        return dict(found)

    def _misses(self, seen: Observed) -> dict[str, tuple[int, int]]:
        known = seen.schedules or ()
        if seen.schedules is not None:
            self._missed.keep({one.name for one in known})
        return {
            one.name: self._missed.add(one.name, one.state.missed, seen.now_ms) for one in known
        }
