"""When an enqueue counts as acknowledged: what is sent after it, what the replies mean. Pure.

    fast         the primary executed it                        nothing
    replicated   ... and `replicas` replicas have it            WAIT
    fsynced      ... and the primary wrote it to its disk       `appendfsync always`, and WAITAOF

WAIT and WAITAOF refer to earlier writes of their own connection, so they follow the enqueue in the
same call. An enqueue of nothing but duplicates counts them, which is a write, too: its confirmation
covers what an earlier call, perhaps on another connection, had stored.

WAITAOF alone does not prove an fsync: with `appendfsync everysec`, Redis since 7.4 until it was
fixed (redis/redis#13793) and Valkey up to 9.1 at least answer it at once. A server that fsyncs
always does so before any reply, so the same call reads its settings. They suffice on a server
without WAITAOF.

A confirmation takes the same time for any number of jobs, so a bulk call gathers chunks of a
partition and confirms them together (`batched`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from queuepool.client.chunks import Chunk
from queuepool.errors import (
    InvalidInputError,
    JobTimeoutError,
    NotConfirmedError,
    QueuePoolError,
    UnavailableError,
    UnconfirmableError,
)
from queuepool.models import Durability
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.producer import confirm

_BATCH, _BATCH_BYTES = 32, 4 * 1024**2  # chunks and bytes that are confirmed together
_BATCHES = 16  # partitions whose chunks are gathered at a time
_ALWAYS = {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}


def check_durability(value: object) -> Durability:
    """Return a valid durability. Raises InvalidInputError."""
    try:
        return Durability(value)  # type: ignore[arg-type]
    except ValueError:
        allowed = ", ".join(Durability)
        raise InvalidInputError(f"durability={value!r}: use one of {allowed}") from None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What an enqueue needs besides the primary's reply. replicas: how many must have or fsync it.

    wait_ms: how long the server waits for them, within our own timeout. verbs:
    what is sent after the enqueue, on its connection; empty: there is nothing to confirm.
    """

    durability: Durability
    replicas: int
    wait_ms: int
    verbs: list[Verb[Any]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        verbs: list[Verb[Any]] = []
        if self.durability is Durability.REPLICATED:
            verbs = [confirm.wait(self.replicas, self.wait_ms)]
        elif self.durability is Durability.FSYNCED:
            # Both go with every call: a failover may lead to a server with other settings.
            verbs = [confirm.wait_aof(self.replicas, self.wait_ms), confirm.persistence()]
        object.__setattr__(self, "verbs", verbs)

    def __bool__(self) -> bool:
        """Return whether there is anything to confirm."""
        return bool(self.verbs)

    def problem(self, replies: Sequence[Any], partition: int) -> QueuePoolError | None:
        """Return why the jobs are not confirmed; None: they are. replies: to `verbs`."""
        if self.durability is Durability.REPLICATED:
            return self._replicated(replies[0], partition)
        if self.durability is Durability.FSYNCED:
            return self._fsynced(replies[0], replies[1], partition)
        return None

    def _replicated(self, reply: Any, partition: int) -> QueuePoolError | None:
        if isinstance(reply, QueuePoolError):
            return _refused(reply)
        return None if reply >= self.replicas else self._too_few(partition, 1, reply)

    def _fsynced(self, reply: Any, persistence: Any, partition: int) -> QueuePoolError | None:
        away = next((r for r in (reply, persistence) if isinstance(r, UnavailableError)), None)
        if away is not None:
            return away
        found = {} if isinstance(persistence, QueuePoolError) else confirm.settings_in(persistence)
        if found != _ALWAYS:
            shows = ", ".join(f"{name} {value}" for name, value in found.items())
            return UnconfirmableError(
                "durability=fsynced needs a server that fsyncs every write before it replies; "
                f"this one reports: {shows or 'nothing, CONFIG is refused'}. Set `appendonly "
                "yes`, `appendfsync always`, `no-appendfsync-on-rewrite no`, and permit the "
                "user to read them (+config|get); or use another QUEUEPOOL_DURABILITY"
            )
        if isinstance(reply, QueuePoolError):
            if "unknown command" not in str(reply):
                return _refused(reply)
            if self.replicas == 0:
                return None
            return UnconfirmableError(
                "QUEUEPOOL_CONFIRM_REPLICAS with durability=fsynced needs WAITAOF, which this "
                "server does not support: use Redis 7.2 or Valkey, or durability=replicated"
            )
        local, replicas = reply
        if local >= 1 and replicas >= self.replicas:
            return None
        return self._too_few(partition, local, replicas)

    def _too_few(self, partition: int, local: int, replicas: int) -> NotConfirmedError:
        return NotConfirmedError(
            partition=partition,
            durability=self.durability,
            fsynced=local >= 1,
            replicas=replicas,
            wanted=self.replicas,
            waited_s=self.wait_ms / 1000,
        )


def _refused(reply: QueuePoolError) -> QueuePoolError:
    if isinstance(reply, UnavailableError):
        return reply
    return UnconfirmableError(f"the server does not confirm: {reply}")


def confirmation_for(config: PoolConfig, durability: Durability | str | None) -> Confirmation:
    """Return the durability of a call; None: the pool's. Raises InvalidInputError."""
    chosen = check_durability(config.durability if durability is None else durability)
    replicas = config.confirm_replicas
    if replicas is None:
        replicas = 1 if chosen is Durability.REPLICATED else 0
    # Less than the timeout of the whole reply, so that the server reports what is missing.
    return Confirmation(chosen, replicas, max(1, round(config.timeout_s * 600)))


def batched(
    chunks: Iterable[Chunk], held: dict[bytes, list[Chunk]], *, together: bool
) -> Iterator[list[Chunk]]:
    """Yield chunks in batches of one partition and pool, in order; alone unless `together`.

    held: filled with the chunks until the next batch is requested. An error of the iterable
    is raised after all earlier items are sent; a timeout at once.
    """
    failure = None
    try:
        for chunk in chunks:
            while held and next(iter(held.values()))[0].since != chunk.since:
                yield from _oldest(held)  # by another route: nothing overtakes it
            batch = held.setdefault(chunk.place, [])
            batch.append(chunk)
            size = sum(c.size_bytes for c in batch)
            if not together or len(batch) == _BATCH or size > _BATCH_BYTES:
                yield batch
                del held[chunk.place]
            elif len(held) > _BATCHES:
                yield from _oldest(held)
    except JobTimeoutError:
        raise
    except Exception as error:
        if any(not batch or batch[0].sent_s for batch in held.values()):
            raise  # it came from outside, as a batch began or just after it was sent
        failure = error
    while held:
        yield from _oldest(held)
    if failure is not None:
        raise failure


def _oldest(held: dict[bytes, list[Chunk]]) -> Iterator[list[Chunk]]:
    oldest = next(iter(held))
    yield held[oldest]
    del held[oldest]
