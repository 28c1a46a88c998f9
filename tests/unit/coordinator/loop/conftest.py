"""What the tests of moves share."""

import pytest

from tests.unit.coordinator.loop.moving import Queue


@pytest.fixture
def queue() -> Queue:
    """Return a queue with three jobs of each key."""
    made = Queue()
    made.fill()
    return made
