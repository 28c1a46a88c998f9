"""What applications may import: named, documented, and light."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tomllib

import pytest

import queuepool
from queuepool import errors, testing
from tests.paths import ROOT

INSTANCES = {"__version__", "JobId", "hooks", "job_fields", "task"}  # their types are documented
HEAVY = ("grpc", "google.protobuf", "pydantic", "pydantic_settings", "rich", "prometheus_client")


@pytest.mark.parametrize("module", [queuepool, testing], ids=lambda m: m.__name__)
def test_the_public_names_are_those_that_are_listed(module: object) -> None:
    listed = set(module.__all__)  # type: ignore[attr-defined]
    found = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert len(module.__all__) == len(listed)  # type: ignore[attr-defined]
    assert listed - {"__version__"} == found


@pytest.mark.parametrize("name", sorted(set(queuepool.__all__) - INSTANCES))
def test_a_public_name_is_documented(name: str) -> None:
    thing = getattr(queuepool, name)

    text = vars(thing).get("__doc__") or ""
    assert len(text) > 20, f"{name} has no docstring of its own"
    assert not text.startswith(f"{name}("), f"{name} has the docstring that dataclasses make"


@pytest.mark.parametrize("name", sorted(set(queuepool.__all__) - {"__version__", "JobId"}))
def test_public_methods_are_documented(name: str) -> None:
    thing = getattr(queuepool, name)
    methods = [thing] if inspect.isroutine(thing) else vars(thing).values()
    undocumented = [
        method.__name__
        for method in (getattr(m, "__func__", getattr(m, "fget", m)) for m in methods)
        if inspect.isfunction(method)
        and not method.__name__.startswith("_")
        and not inspect.getdoc(method)
    ]

    assert undocumented == []


def test_every_error_a_caller_can_meet_is_public() -> None:
    internal = {"JobError", "ScriptError", "UndecodableError"}

    assert set(errors.__all__) - internal <= set(queuepool.__all__)


def test_every_error_is_one_of_ours() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.QueuePoolError)


def test_sync_and_asyncio_have_the_same_methods_and_arguments() -> None:
    from queuepool.client.async_pool import AsyncTaskGroup

    only_sync = {
        "partition",
        "partitions",
        "places",
        "add_to",
        "system",
        "system_of",
        "servers",
    }  # for processes, which are sync
    for sync, twin in (
        (queuepool.QueuePool, queuepool.AsyncQueuePool),
        (queuepool.TaskGroup, AsyncTaskGroup),
    ):
        names = {n for n, v in vars(sync).items() if inspect.isfunction(v) and n[0] != "_"}
        for name in names - only_sync:
            ours = inspect.signature(getattr(sync, name)).parameters
            theirs = inspect.signature(getattr(twin, name)).parameters
            assert {n: p.default for n, p in ours.items()} == {
                n: p.default for n, p in theirs.items()
            }, f"{twin.__name__}.{name}"


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert queuepool.__version__ == project["version"]


@pytest.mark.thorough
@pytest.mark.parametrize("module", ["queuepool", "queuepool.testing"])
def test_an_import_brings_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.strip() == "[]"
