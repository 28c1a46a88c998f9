"""One name for two functions is refused, also where both have the same place in a file."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queuepool import InvalidInputError, Registry

MODULE = """
import functools
from queuepool import Registry

registry = Registry() if "registry" not in globals() else registry

def traced(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)
    return wrapper

def bare(f):
    def wrapper(**kwargs):
        return f(**kwargs)
    return wrapper

def factory(table, fields=("a",), *, size=3):
    def load(fields=fields, *, size=size):
        return table
    return load

class Mailer:
    def __init__(self, host):
        self.host, self.seen = host, {}
    def send(self):
        return self.host
    @classmethod
    def list(cls):
        return cls

@traced
def mail(to: str) -> str:
    return to

TASKS = {
    "mail": mail, "bare": bare(traced(mail)), "load": factory("customers"), "cached":
    functools.lru_cache(mail), "send": Mailer("a").send, "list": Mailer.list, "object":
    bare(Mailer("b").send), "partial": functools.partial(mail, to="ada"), "lambda": lambda: 1,
}
for name, function in TASKS.items():
    registry.task(name=name)(function)
"""

CHANGING = """
import enum, functools, random, threading, time, uuid
from queuepool import Registry

registry = Registry() if "registry" not in globals() else registry

class Kind(enum.Enum):
    ROW = 1

class Client:
    def __init__(self):
        self.lock, self.began_s, self.calls = threading.Lock(), time.monotonic(), []

class Counted:
    def __init__(self, f):
        functools.update_wrapper(self, f)
        self.f, self.calls = f, random.random()
    def __call__(self):
        self.calls += 1

def load(): ...

HELD = {
    "time": time.time_ns(), "id": uuid.uuid4(), "client": Client(), "lock": threading.Lock(),
    "enum": {Kind.ROW: Kind.ROW}, "set": frozenset([Kind.ROW]), "nan": float("nan"),
    "objects": {Client()}, "clients": [Client()] * random.randint(1, 9), "object": object(),
}
TASKS = {name: holding(value)(load) for name, value in HELD.items()}
TASKS |= {"counted": Counted(load), "tried": holding(Counted)(Counted(load)), "at": Client()}
TASKS["at"] = holding(TASKS["at"].__init__)(load)
for name, function in TASKS.items():
    registry.task(name=name)(function)
"""


def holding(value: Any) -> Callable[..., Any]:
    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return f(value, *args, **kwargs)

        return wrapper

    return decorate


def of_text(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(f"def load(): return {text}", names)
    return names["load"]


def traced(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return wrapper


def bare(f: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(**kwargs: Any) -> Any:
        return f(**kwargs)

    return wrapper


def with_default(table: str) -> Callable[..., Any]:
    def load(table: str = table) -> str:
        return table

    return load


class Sender:
    def __init__(self, host: str | None = None) -> None:
        if host is not None:
            self.host = host

    def send(self) -> None: ...

    @classmethod
    def list(cls) -> None: ...


class Other(Sender): ...


def mail() -> None: ...
def pay() -> None: ...


def in_file(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    return spec, module


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (traced(mail), traced(pay)),
        (bare(mail), bare(pay)),
        (traced(bare(mail)), traced(bare(pay))),
        (mail, traced(mail)),
        (bare(lambda: "customers"), bare(lambda: "orders")),
        (with_default("customers"), with_default("orders")),
        (Sender("a").send, Sender("b").send),
        (Sender().send, Sender().send),
        (traced(Sender("a").send), traced(Sender("b").send)),
        (Sender.list, Other.list),
        (functools.lru_cache(mail), functools.lru_cache(pay)),
        (functools.partial(mail), functools.partial(pay)),
        (holding(1)(mail), holding(2)(mail)),
        (holding(Sender("a"))(mail), holding(Sender("b"))(mail)),
        (holding(operator.itemgetter("a"))(mail), holding(operator.itemgetter("b"))(mail)),
        (of_text("1"), of_text("2")),
    ],
)
def test_two_functions_of_one_place_are_told_apart(one: Any, other: Any) -> None:
    registry = Registry()
    registry.task(name="send")(one)
    registry.task(name="send")(one)

    with pytest.raises(InvalidInputError, match="two functions are registered as task 'send'"):
        registry.task(name="send")(other)
    assert registry.get("send").function is one


def test_a_module_that_is_imported_twice_or_reloaded_has_the_same_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "twice_imported.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    first = importlib.import_module("twice_imported")
    monkeypatch.setitem(sys.modules, "twice_imported", first)  # removed at the end
    path = tmp_path / "twice_imported.py"
    spec, second = in_file(path, "main_of_twice_imported")
    second.registry = first.registry
    monkeypatch.setitem(sys.modules, "main_of_twice_imported", second)

    spec.loader.exec_module(second)  # as `python -m` does, under another name
    assert first.registry.get("load").function is second.TASKS["load"]
    importlib.reload(first)

    assert first.registry.get("load").function is first.TASKS["load"]
    with pytest.raises(InvalidInputError, match="two functions"):
        first.registry.task(name="load")(first.factory("orders"))
    with pytest.raises(InvalidInputError, match="two functions"):
        first.registry.task(name="load")(first.factory("customers", fields=("b",)))


def test_what_a_second_import_holds_may_differ_from_what_the_first_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app_of_clients.py"
    path.write_text(CHANGING)
    spec, first = in_file(path, "app_of_clients")
    first.holding = holding  # of a module that is not imported again
    monkeypatch.setitem(sys.modules, "app_of_clients", first)
    spec.loader.exec_module(first)
    spec, second = in_file(path, "main_of_clients")
    second.holding, second.registry = holding, first.registry
    monkeypatch.setitem(sys.modules, "main_of_clients", second)

    spec.loader.exec_module(second)
    assert {task.name: task.function for task in first.registry} == second.TASKS

    spec.loader.exec_module(second)  # as a reload
    assert {task.name: task.function for task in first.registry} == second.TASKS
    for name, function in (("time", holding(7)(second.load)), ("counted", second.Counted(mail))):
        with pytest.raises(InvalidInputError, match="two functions"):
            second.registry.task(name=name)(function)


def test_what_a_function_holds_may_refer_to_itself_or_refuse_a_comparison() -> None:
    class Array:
        def __eq__(self, other: object) -> bool:
            raise ValueError("ambiguous")

        __hash__ = None  # type: ignore[assignment]

    def holding(value: Any) -> Callable[..., Any]:
        def load() -> Any:
            return value

        return load

    ring: list[Any] = []
    ring.append(ring)
    other: list[Any] = []
    other.append(other)
    registry = Registry()
    registry.task(name="ring")(holding(ring))
    registry.task(name="ring")(holding(other))
    registry.task(name="array")(holding(Array()))

    with pytest.raises(InvalidInputError, match="two functions"):
        registry.task(name="array")(holding(Array()))
