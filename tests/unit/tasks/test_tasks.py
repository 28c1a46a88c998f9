"""The registry of tasks: names, options, and which parameter takes the context."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import queuepool
import queuepool as qp
from queuepool import Backoff, InvalidInputError, JobContext, Registry, Tier, UnknownTaskError


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_a_function_is_registered_under_its_own_name_and_returned(registry: Registry) -> None:
    @registry.task
    def send(to: str) -> str:
        return to

    assert send("a") == "a"
    assert registry.get("send").function is send.__wrapped__
    assert registry.name_of(send) == registry.name_of("send") == "send"
    assert [t.name for t in registry] == ["send"]


def test_options_are_kept(registry: Registry) -> None:
    backoff = Backoff(base_s=1)

    @registry.task(
        name="n", max_attempts=7, timeout_s=30, backoff=backoff, tier="high", result_ttl_s=0
    )
    async def send() -> None: ...

    task = registry.get("n")
    assert (task.max_attempts, task.timeout_s, task.backoff) == (7, 30, backoff)
    assert (task.tier, task.result_ttl_s, task.is_async) == (Tier.HIGH, 0, True)


@pytest.mark.parametrize(
    "options",
    [
        {"max_attempts": 0}, {"max_attempts": -1}, {"max_attempts": 2**31},
        {"max_attempts": 1.0}, {"max_attempts": True}, {"max_attempts": "3"},
        {"timeout_s": 0}, {"timeout_s": -1}, {"timeout_s": float("nan")},
        {"timeout_s": float("inf")}, {"timeout_s": 8 * 86400}, {"timeout_s": True},
        {"timeout_s": 10**400},
        {"tier": 4}, {"tier": -1}, {"tier": "high "}, {"tier": "urgent"}, {"tier": 1.0},
        {"tier": True}, {"tier": None},
        {"result_ttl_s": -1}, {"result_ttl_s": 31 * 86400}, {"result_ttl_s": float("nan")},
        {"result_ttl_s": "1"}, {"backoff": 5}, {"backoff": None},
        {"pool": ""}, {"pool": "Video"}, {"pool": 5}, {"pool": "a" * 33}, {"pool": "a=b"},
        {"slots": 0}, {"slots": True}, {"slots": 1.5}, {"slots": 4097},
        {"name": "x" * 129}, {"name": "ü" * 65}, {"name": "\ud800"},
    ],
)  # fmt: skip
def test_a_bad_option_is_refused_and_nothing_is_registered(
    registry: Registry, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        registry.task(**options)(lambda: None)

    assert not list(registry)


def test_a_name_of_128_bytes_is_the_longest(registry: Registry) -> None:
    registry.task(name="ü" * 64)(lambda: None)

    assert registry.find("ü" * 64)


def numbers() -> Iterator[int]:
    yield 1


async def numbers_async() -> AsyncIterator[int]:
    yield 1


class Numbers:
    def __call__(self) -> Iterator[int]:
        yield 1


@pytest.mark.parametrize(
    "given",
    [numbers, numbers_async, functools.partial(numbers), Numbers()],
    ids=["generator", "async generator", "partial", "object"],
)
def test_a_generator_function_is_refused(registry: Registry, given: Any) -> None:
    with pytest.raises(InvalidInputError, match="which is a generator function: nobody"):
        registry.task(name="numbers")(given)

    assert not list(registry)


def test_something_without_a_name_needs_one(registry: Registry) -> None:
    nameless = functools.partial(print, "x")

    with pytest.raises(InvalidInputError, match="name="):
        registry.task(nameless)
    registry.task(name="p")(nameless)
    registry.task(name="p")(nameless)  # the same again

    assert registry.get("p").function is nameless
    with pytest.raises(InvalidInputError, match="two functions"):
        registry.task(name="p")(functools.partial(print, "y"))


def test_two_functions_of_one_name_are_told_apart(registry: Registry) -> None:
    def make(n: int) -> Any:
        if n == 1:

            def send() -> int:
                return 1
        else:

            def send() -> int:
                return 2

        return send

    registry.task(make(1))
    registry.task(make(1))  # the same code again: its module was imported twice
    with pytest.raises(
        InvalidInputError, match=r"two functions are registered as task 'send'.*name="
    ):
        registry.task(make(2))


def test_an_unknown_task_says_what_is_known(registry: Registry) -> None:
    registry.task(name="b")(lambda: None)
    registry.task(name="a")(lambda: None)

    with pytest.raises(UnknownTaskError, match=r"'c'.*known: a, b.*--app"):
        registry.get("c")
    assert registry.find("c") is None


@pytest.mark.parametrize("thing", [print, lambda: None, 7, None, ["t"], b"t"])
def test_a_function_that_is_no_task_cannot_be_named(registry: Registry, thing: Any) -> None:
    with pytest.raises(InvalidInputError, match="not a registered task"):
        registry.name_of(thing)


# -- which parameter takes the context; annotations here are text, by the __future__ import --------


def by_name(a: int, ctx) -> None: ...  # type: ignore[no-untyped-def]
def by_type(a: int, context: JobContext) -> None: ...
def by_module(a: int, context: queuepool.JobContext) -> None: ...
def by_alias(a: int, context: qp.JobContext) -> None: ...
def by_quoted(a: int, context: "JobContext") -> None: ...  # noqa: UP037
def other_ctx(ctx: int) -> None: ...
def none_at_all(a: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "parameter"),
    [
        (by_name, "ctx"), (by_type, "context"), (by_module, "context"), (by_alias, "context"),
        (by_quoted, "context"), (other_ctx, None), (none_at_all, None),
    ],
)  # fmt: skip
def test_the_context_goes_where_it_is_asked_for(
    registry: Registry, function: Any, parameter: str | None
) -> None:
    registry.task(function)

    assert registry.get(function.__name__).context_parameter == parameter
