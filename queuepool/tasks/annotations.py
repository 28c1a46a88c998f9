"""Converters for the arguments and the result of a handler, derived from its annotations.

An unusable annotation is ignored, with a warning: a handler must run even without annotations.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import partial
from inspect import Parameter
from typing import Any

from queuepool.errors import UndecodableError
from queuepool.errors.escaping import shown
from queuepool.tasks import conversion
from queuepool.tasks.context import JobContext

_log = logging.getLogger("queuepool.tasks")
_CONTEXT = re.compile(r"""(?:^|[.\[|"' ])JobContext(?:$|[\]|"' ])""")


class Argument:
    """One parameter whose values are converted."""

    __slots__ = ("annotation", "by_msgspec", "convert", "text")

    def __init__(self, annotation: Any, convert: conversion.Convert, by_msgspec: bool) -> None:
        self.annotation, self.convert, self.by_msgspec = annotation, convert, by_msgspec
        self.text = conversion.is_text(annotation)

    def make(self, value: Any) -> Any:
        """Return a value converted for the handler. Raises whatever its type raises."""
        # For `id: str`, a number means its digits; a bool or a list is a mistake.
        if self.text and type(value) in (int, float):
            return str(value)
        return self.convert(value)


class Annotations:
    """The annotations of one task's function, resolved on demand."""

    def __init__(self, task: str, function: Callable[..., Any]) -> None:
        self._task, self._function = task, function

    def argument(self, name: str, parameter: Parameter) -> Argument | None:
        """Return how values of a parameter are converted; None: they are passed unchanged."""
        annotation = self._resolved(name, parameter.annotation)
        if conversion.is_left_alone(annotation):
            return None
        try:
            if parameter.default is None:
                annotation = conversion.optional(annotation)
            if conversion.mentions_pydantic(annotation):
                return Argument(annotation, conversion.by_pydantic(annotation), False)
            if conversion.is_convertible(annotation):
                return Argument(annotation, conversion.by_msgspec(annotation), True)
            why = "values of it cannot be created from JSON"
        except Exception as error:  # of anything in an annotation, or of pydantic
            why = f"{type(error).__name__}: {error}"
        self._say(name, annotation, why)
        return None

    def _resolved(self, name: str, note: Any) -> Any:
        if conversion.is_left_alone(note):
            return note
        try:
            return conversion.resolve(self._function, note)
        except Exception as error:  # evaluates user code, wherever it is
            self._say(name, conversion.note_text(note) or note, f"{type(error).__name__}: {error}")
            return Any

    def _say(self, name: str, annotation: Any, why: str) -> None:
        _log.warning(
            "task %r: %s is annotated %s, which is ignored: its values are passed as decoded "
            "from JSON (%s)",
            self._task,
            f"its argument {name!r}" if name != "return" else "its result",
            conversion.shown_type(annotation),
            why,
        )

    def result_reader(self) -> conversion.Convert | None:
        """Return the converter from JSON to a result; None: it stays unchanged.

        It raises UndecodableError for what is something else.
        """
        convert = self._result_converter()
        return None if convert is None else partial(_read_result, self._task, convert)

    def _result_converter(self) -> conversion.Convert | None:
        note = conversion.signature_of(self._function).return_annotation
        annotation = self._resolved("return", note)
        if annotation is None or annotation is type(None) or conversion.is_left_alone(annotation):
            return None
        try:
            if conversion.mentions_pydantic(annotation):
                return conversion.by_pydantic(annotation)
            if conversion.is_convertible(annotation):
                return conversion.by_msgspec(annotation)
        except Exception as error:
            self._say("return", annotation, f"{type(error).__name__}: {error}")
        return None


def _read_result(task: str, convert: conversion.Convert, result: Any) -> Any:
    try:
        return convert(result)
    except conversion.NO_MISMATCH:
        raise
    except Exception as error:
        raise UndecodableError(
            f"the result of task {task!r} does not match its return annotation: "
            f"{conversion.why_not(error)}. It is {shown(result)}; the job's status has the "
            "unconverted value."
        ) from None


def context_parameter(parameters: list[Parameter]) -> str | None:
    """Return the name of the parameter that receives the context, if any."""
    for parameter in parameters:
        if is_for_context(parameter):
            return parameter.name
        if parameter.name == "ctx" and parameter.annotation is Parameter.empty:
            return parameter.name
    return None


def is_for_context(parameter: Parameter) -> bool:
    """Return whether a parameter is annotated as the context."""
    note = parameter.annotation
    return any(map(_is_context, (note, *getattr(note, "__args__", ()))))


def _is_context(note: Any) -> bool:
    # A string under `from __future__ import annotations`, possibly with an alias.
    text = conversion.note_text(note)
    return note is JobContext or (text is not None and bool(_CONTEXT.search(text)))
