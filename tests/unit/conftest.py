import pytest

from queuepool import Registry
from queuepool.testing import MemoryPool


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def pool(registry: Registry) -> MemoryPool:
    return MemoryPool(registry=registry)
