"""The last judge: a short walk beside the model, the same every time, that does not shrink."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from queuepool.process.embedded import EmbeddedServer
from tests.property.model.rules import PartitionMachine
from tests.property.test_model import PROFILE


@pytest.fixture(scope="session")
def walk_url() -> Iterator[str]:
    """The URL of a server that holds nothing but the keys of one walk at a time."""
    with EmbeddedServer(appendonly=False) as server:
        yield server.url


def test_scripts_do_what_the_model_says(walk_url: str) -> None:
    machine = type("Machine", (PartitionMachine,), {"url": walk_url})
    budget = settings(PROFILE, max_examples=25, phases=[Phase.generate], report_multiple_bugs=False)

    run_state_machine_as_test(machine, settings=budget)
