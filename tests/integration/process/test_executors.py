"""Errors and tasks in the processes of executors, which send everything pickled."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from queuepool import Registry
from queuepool.errors import PayloadTooLargeError

registry = Registry()


@registry.task
def greet(name: str) -> str:
    return f"Hello, {name}"


def refuse() -> None:
    raise PayloadTooLargeError(size=1, limit=2)


def test_an_error_arrives_and_the_executor_goes_on() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        with pytest.raises(PayloadTooLargeError) as raised:
            executor.submit(refuse).result(timeout=60)

        assert (raised.value.size, raised.value.limit) == (1, 2)
        assert executor.submit(greet, "Ada").result(timeout=60) == "Hello, Ada"
