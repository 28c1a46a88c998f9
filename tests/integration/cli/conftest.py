from collections.abc import Iterator

import pytest

from queuepool import QueuePool
from tests.shell import Shell


@pytest.fixture
def pool(shell: Shell) -> Iterator[QueuePool]:
    with QueuePool.from_env() as made:
        yield made
