"""What `pool.inspect` refuses to look for."""

from typing import Any

import pytest

from queuepool import InvalidInputError
from queuepool.testing import MemoryPool


@pytest.fixture
def pool() -> MemoryPool:
    return MemoryPool(2)


_NOBODYS: tuple[Any, ...] = ("\ud800", "", 5, b"bytes", [])


@pytest.mark.parametrize("value", [*_NOBODYS, print])
@pytest.mark.parametrize("name", ["task", "pool", "tenant", "error", "partition_key"])
def test_what_no_job_can_have_is_refused(pool: MemoryPool, name: str, value: Any) -> None:
    if name == "partition_key" and isinstance(value, (str, bytes)) and value:
        pytest.skip("a group may be called so")
    with pytest.raises(InvalidInputError, match=name.replace("_", ".")):
        pool.inspect.count(**{name: value})
    with pytest.raises(InvalidInputError, match=name.replace("_", ".")):
        pool.inspect.replay(**{name: value})


@pytest.mark.parametrize("value", _NOBODYS)
def test_groups_are_of_a_pool_that_can_be(pool: MemoryPool, value: Any) -> None:
    with pytest.raises(InvalidInputError, match="pool="):
        pool.inspect.groups(pool=value)
