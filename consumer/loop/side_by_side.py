"""The consumers of one process: one a pool, side by side, which start, drain and end together.

    main thread     the first pool's consumer
    a thread each   those of the others

Each pool has a lease, workers and a loop of its own, so a pool that is busy, full or held delays no
other. The first failure stops all; a process that is fenced in one of them has to exit at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from consumer.loop.lifecycle import Consumer
from queuepool.errors import FencedError
from queuepool.errors.hindrances import start_thread


class SideBySide:
    """Runs several consumers. on_fenced: ends the process, on the thread of the fenced one."""

    def __init__(
        self, consumers: Sequence[Consumer], on_fenced: Callable[[FencedError], None]
    ) -> None:
        self._consumers, self._on_fenced = consumers, on_fenced
        self._failures: list[BaseException] = []

    def stop(self) -> None:
        """Ask all to drain and stop; callable from anywhere, idempotent."""
        for consumer in self._consumers:
            consumer.stop()

    def run(self) -> None:
        """Run until all have stopped. Raises the first failure, also NoThreadError."""
        first, *others = self._consumers
        started: list[threading.Thread] = []
        try:
            for one in others:
                name = f"pool-{one.pool}"
                thread = threading.Thread(target=self._run, args=(one,), name=name, daemon=True)
                start_thread(thread, f"for pool {one.pool}")
                started.append(thread)
            self._run(first)
        finally:
            self.stop()
            for thread in started:
                thread.join()
        if self._failures:
            raise self._failures[0]

    def _run(self, consumer: Consumer) -> None:
        try:
            consumer.run()
        except FencedError as error:
            self._on_fenced(error)
            self._failures.append(error)
        except BaseException as error:
            self._failures.append(error)
        finally:
            self.stop()
