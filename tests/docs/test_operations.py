"""docs/operations.md says what the code does: settings, metrics, exit codes."""

import re
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Metric

import consumer.__main__ as consumer_process
import coordinator.__main__ as coordinator_process
from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from consumer.telemetry.metrics import ConsumerMetrics
from consumer.telemetry.server_memory import ServerMemory
from coordinator.snapshots.store import SnapshotStore
from coordinator.telemetry.metrics import Metrics
from queuepool import QueuePool
from queuepool.cli.commands.check import OTHER_VARIABLES
from queuepool.cli.exits import Exit
from tools.settings_docs import MODELS, PAGE, ROOT, filled

TEXT = PAGE.read_text()
COMMON = ("OK", "FAILED", "CONFIGURATION", "WATCHDOG")


def section(title: str) -> str:
    """Return what stands below a heading, up to the next one."""
    return re.split(r"^#", TEXT.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def documented_metrics(title: str) -> dict[str, str]:
    """Return name -> type of the table below a heading."""
    return dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", section(title), re.MULTILINE))


def exported(metrics: Iterable[Metric]) -> dict[str, str]:
    """Return name -> type, named as Prometheus shows them."""
    return {f"{m.name}_total" if m.type == "counter" else m.name: m.type for m in metrics}


def test_the_tables_of_settings_are_current() -> None:
    assert filled(TEXT) == TEXT, "run `python -m tools.settings_docs --write`"


def test_the_metrics_of_a_consumer_are_documented() -> None:
    with QueuePool("redis://127.0.0.1:1/0") as pool:
        collected = ConsumerMetrics(Consumer(pool, ConsumerSettings(app="tasks"))).collect()
        names = exported(collected) | exported(ServerMemory(pool, lambda: 0).collect())

    assert documented_metrics("Metrics of a consumer") == names


def test_the_metrics_of_a_coordinator_are_documented() -> None:
    registry = CollectorRegistry()
    Metrics(registry, SnapshotStore())

    assert documented_metrics("Metrics of a coordinator") == exported(registry.collect())


def test_the_exit_codes_of_commands_are_documented() -> None:
    commands = section("Exit codes").partition("`queuepool consumer`")[0]

    documented = dict(re.findall(r"^\| (\d+) \| (.*) \|$", commands, re.MULTILINE))

    assert documented == {str(code.value): code.meaning for code in Exit}


def test_the_exit_codes_of_processes_are_documented() -> None:
    processes = section("Exit codes").partition("`queuepool consumer`")[2]

    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", processes, re.MULTILINE)}

    consumers = {getattr(consumer_process, name) for name in (*COMMON, "FENCED")}
    assert documented == consumers | {getattr(coordinator_process, name) for name in COMMON}


def test_every_variable_that_a_page_names_exists() -> None:
    known = set(OTHER_VARIABLES)
    for model in MODELS:
        prefix = model.model_config.get("env_prefix", "")
        names = (*model.model_fields, *getattr(model, "old_names", {}).values())
        known |= {f"{prefix}{name.upper()}" for name in names}

    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(
            r"\b(?:QUEUEPOOL|CONSUMER|COORDINATOR)_[A-Z_]*[A-Z]\b", page.read_text()
        )
    }

    assert named
    assert {(page, name) for page, name in named if name not in known} == set()
