"""@task(cron=...) and @task(every=...): schedules that `pool.schedules.declare()` sets."""

import asyncio

import pytest

from queuepool import InvalidInputError, Registry
from queuepool.cli import main
from queuepool.cli.exits import Exit
from queuepool.testing import MemoryPool


@pytest.fixture
def registry() -> Registry:
    registry = Registry()

    @registry.task(cron="30 3 * * MON-FRI", timezone="Asia/Seoul", tier="low")
    def nightly() -> None: ...

    @registry.task(name="sweep.all", every="10m")
    async def sweep(of: str = "everything") -> None: ...

    @registry.task
    def plain() -> None: ...

    return registry


def test_what_tasks_declare_is_set_and_set_again_changes_nothing(registry: Registry) -> None:
    pool = MemoryPool(registry=registry)

    assert pool.schedules.declare() == {"nightly": True, "sweep.all": True}
    assert pool.schedules.declare() == {"nightly": False, "sweep.all": False}

    nightly, sweep = (each.schedule for each in pool.schedules.list())
    assert nightly is not None
    assert sweep is not None
    assert (nightly.task, nightly.cron, nightly.timezone) == (
        "nightly", "30 3 * * MON-FRI", "Asia/Seoul",
    )  # fmt: skip
    assert (nightly.tier, nightly.partition_key) == ("low", "nightly")
    assert (sweep.task, sweep.every) == ("sweep.all", 600.0)


def test_a_pause_outlives_the_next_declaration(registry: Registry) -> None:
    pool = MemoryPool(registry=registry)
    pool.schedules.declare()
    pool.schedules.pause("nightly")

    pool.schedules.declare()

    status = pool.schedules.get("nightly")
    assert status is not None
    assert status.paused_ms > 0


def test_coroutines_declare_alike(registry: Registry) -> None:
    pool = MemoryPool(registry=registry).asyncio()

    assert asyncio.run(pool.schedules.declare()) == {"nightly": True, "sweep.all": True}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cron": "30 25 * * *"}, "25"),
        ({"cron": "0 3 * * *", "every": "1h"}, "either cron or every"),
        ({"every": "soon"}, "use 1 s to 366 days"),
        ({"cron": "0 3 * * *", "timezone": "Mars/Base"}, "Mars/Base"),
        ({"timezone": "Asia/Seoul"}, "timezone needs cron"),
        ({"name": "a" * 41, "every": "1h"}, "40"),
    ],
)
def test_a_declaration_that_cannot_be_kept_is_refused_at_once(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Registry().task(**options)(due_function())  # type: ignore[call-overload]


def due_function() -> object:
    def due() -> None: ...

    return due


def test_a_task_that_needs_arguments_cannot_be_declared() -> None:
    registry = Registry()

    @registry.task(every="1h")
    def needs(account: int) -> None: ...

    with pytest.raises(InvalidInputError, match="misses 'account'"):
        MemoryPool(registry=registry).schedules.declare()


def test_a_command_refuses_a_module_that_is_not_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["schedule", "declare", "--app", "no_such_module_here"])

    assert code == Exit.USAGE
    assert "no such module" in capsys.readouterr().err
