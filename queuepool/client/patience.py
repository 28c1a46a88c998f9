"""A partition as applications ask it: a question is asked again until the server answers.

Asking and cancelling do no harm when they are repeated, so a connection that the server closed,
or a restart of it, is not the caller's concern. The owner of a partition is not patient: its
loop has a lease to watch. Enqueueing has its own rules, see settling.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from queuepool.client.retrying import Attempts
from queuepool.errors import UnavailableError
from queuepool.partitions.partition import Partition
from queuepool.verbs import Verb

T = TypeVar("T")


def patiently(ask: Callable[[], T], retry_for_s: float) -> T:
    """Return the answer to a question that may be repeated. Raises the last UnavailableError."""
    attempts = Attempts(monotonic() + retry_for_s)
    while True:
        try:
            return ask()
        except UnavailableError:
            pause = attempts.next_pause(monotonic(), random.random())
            if pause is None:
                raise
        threading.Event().wait(pause)


@dataclass(frozen=True, slots=True)
class RetryingPartition(Partition):
    """A partition whose verbs are repeated for `retry_for_s` while the server is away."""

    retry_for_s: float
    verify: Callable[[], None]  # that it is the partition which the others mean

    def run(self, verb: Verb[T]) -> T:
        """Run one verb here and return its typed reply. Raises the last UnavailableError."""
        self.verify()
        return patiently(lambda: verb.read(self.server.run(self.key, [verb])[0]), self.retry_for_s)
