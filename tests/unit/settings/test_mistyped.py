"""Variables that are almost settings are told; those of other programs are left alone."""

from __future__ import annotations

import pytest
from pydantic_settings import BaseSettings

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from queuepool.cli.commands.check import OTHER_VARIABLES
from queuepool.settings.environment import QueuePoolSettings
from queuepool.settings.mistyped import mistyped, names_of
from queuepool.web.settings import WebSettings

ALL = (QueuePoolSettings, ConsumerSettings, CoordinatorSettings, WebSettings)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("CONSUMER_MAX_WORKER", "CONSUMER_MAX_WORKERS"),
        ("consumer_lease", "CONSUMER_LEASE_S"),
        ("COORDINATOR_POLICIES", "COORDINATOR_POLICY"),
        ("QUEUEPOOL_PLACEMNT", "QUEUEPOOL_PLACEMENT"),
        ("QUEUEPOOL_WEB_PROT", "QUEUEPOOL_WEB_PORT"),
    ],
)
def test_one_that_is_almost_a_setting_names_it(variable: str, meant: str) -> None:
    (told,) = mistyped([variable], *ALL)

    assert told == f"{variable} is set, but there is no such setting; do you mean {meant}?"


@pytest.mark.parametrize(
    "variable",
    [
        *("CONSUMER_KEY", "CONSUMER_SECRET", "COORDINATOR", "CONSUMER_", "QUEUEPOOL", "PATH"),
        *("CONSUMER_LOOKAHEAD", "consumer_max_workers", *sorted(OTHER_VARIABLES)),
    ],
)
def test_settings_and_others_are_passed_over(variable: str) -> None:
    assert list(mistyped([variable], *ALL)) == []


@pytest.mark.parametrize("own", ALL[1:])
def test_no_process_doubts_the_settings_of_another(own: type[BaseSettings]) -> None:
    every = [name for settings in ALL for name in names_of(settings)]

    assert list(mistyped([*every, *OTHER_VARIABLES], QueuePoolSettings, own)) == []
