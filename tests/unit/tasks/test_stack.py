"""The kept text of a traceback is what the interpreter would print."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from queuepool.tasks import stack


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    stack._known.clear()
    yield
    stack._known.clear()


def raised(by: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever it raises
        by()
    return caught.value


def printed(error: BaseException) -> str:
    lines = traceback.format_exception(error, limit=-stack.MOST_FRAMES, chain=False)
    return "".join(lines)


def look_up(name: str) -> int:
    return {"a": 1}[name]


def recurse(depth: int) -> int:
    return recurse(depth - 1) if depth else look_up("b")


def noted() -> None:
    error = ValueError("two\nlines")
    error.add_note("and a note")
    raise error


def grouped() -> None:
    raise ExceptionGroup("several", [ValueError(1), KeyError("z")])


@pytest.mark.parametrize(
    "by",
    [
        lambda: look_up("b"),
        lambda: recurse(3),
        lambda: recurse(200),
        lambda: compile("1 +", "there", "exec"),
        lambda: eval("loo_up"),  # noqa: S307
        lambda: eval("1 / 0"),  # noqa: S307
        noted,
        grouped,
    ],
)
def test_the_text_is_that_of_the_interpreter_the_first_time_and_the_second(
    by: Callable[[], object],
) -> None:
    for _ in range(2):
        error = raised(by)
        assert stack.text_of(error) == printed(error)


def test_one_place_that_raises_different_texts_has_one_stack() -> None:
    first, second = (raised(partial(look_up, name)) for name in "bc")
    assert stack.text_of(first) != stack.text_of(second) == printed(second)
    assert len(stack._known) == 1


def test_two_lines_of_one_function_have_stacks_of_their_own() -> None:
    def fail(where: int) -> None:
        if where:
            raise ValueError("here")
        raise ValueError("there")

    first, second = raised(lambda: fail(0)), raised(lambda: fail(1))
    assert stack.text_of(first) == printed(first)
    assert stack.text_of(second) == printed(second)


def test_code_made_for_each_call_does_not_fill_the_memory() -> None:
    for number in range(3 * stack.MOST_STACKS):
        scope: dict[str, Callable[[], object]] = {}
        exec(f"def f(): raise ValueError({number})", scope)
        error = raised(scope["f"])
        assert stack.text_of(error) == printed(error)
        assert len(stack._known) <= stack.MOST_STACKS


def test_an_exception_that_was_never_raised_has_no_stack() -> None:
    assert stack.text_of(ValueError("x")) == "ValueError: x\n"


def test_frames_of_callers_are_left_out_at_the_start_only() -> None:
    def caller() -> None:
        scope: dict[str, Callable[[], object]] = {}
        exec(compile("def f(then): then()", "/theirs/f.py", "exec"), scope)
        exec(compile("def f(then): then()", "/ours/f.py", "exec"), ours)
        scope["f"](partial(ours["f"], partial(look_up, "b")))  # type: ignore[call-arg]

    ours: dict[str, Callable[[], object]] = {}
    error = raised(caller)

    whole = stack.text_of(error)
    assert stack.text_of(error, ("/ours/",)) == whole  # the test itself called first
    cut = stack.text_of(error, (__file__, "/ours/"))
    assert "/theirs/" in cut.splitlines()[1]
    assert "/ours/" in cut
    assert cut.splitlines()[-1] == whole.splitlines()[-1]


@pytest.mark.parametrize("by", [lambda: look_up("b"), grouped])
def test_what_only_callers_raise_has_all_its_frames(by: Callable[[], object]) -> None:
    error = raised(by)
    assert stack.text_of(error, (__file__,)) == printed(error)
