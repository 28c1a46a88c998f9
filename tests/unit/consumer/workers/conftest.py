"""What several modules here begin with."""

from collections.abc import Iterator

import pytest

from tests.unit.consumer.workers.executing import Bench


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.loop.stop()
    made.keeper.stop()
