"""What the annotations of a handler ask for: a converter for each argument, one for the result.

What cannot be used is left alone, with a warning: a handler must run without its annotations.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from inspect import Parameter
from typing import Any

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
        """Return a value as the handler wants it. Raises ValueError or TypeError."""
        # Whoever writes `id: str` and gets a number means its digits; a bool or a list is a slip.
        if self.text and type(value) in (int, float):
            return str(value)
        return self.convert(value)


class Annotations:
    """The annotations of one task's function, resolved when they are asked for."""

    def __init__(self, task: str, function: Callable[..., Any]) -> None:
        self._task, self._function = task, function

    def argument(self, name: str, parameter: Parameter) -> Argument | None:
        """Return how values of a parameter are converted; None: they are left as they are."""
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
        except Exception as error:  # of what may stand in an annotation, or of pydantic
            why = f"{type(error).__name__}: {error}"
        self._say(name, annotation, why)
        return None

    def _resolved(self, name: str, note: Any) -> Any:
        if conversion.is_left_alone(note):
            return note
        try:
            return conversion.resolve(self._function, note)
        except Exception as error:  # evaluates what the user wrote, wherever it stands
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
        """Return what makes a result of JSON; None: it is left as it is."""
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


def context_parameter(parameters: list[Parameter]) -> str | None:
    """Return the name of the parameter that takes the context, if there is one."""
    for parameter in parameters:
        note = parameter.annotation
        if any(map(_is_context, (note, *getattr(note, "__args__", ())))):
            return parameter.name
        if parameter.name == "ctx" and note is Parameter.empty:
            return parameter.name
    return None


def _is_context(note: Any) -> bool:
    # Text when the module has `from __future__ import annotations`, under whatever alias.
    text = conversion.note_text(note)
    return note is JobContext or (text is not None and bool(_CONTEXT.search(text)))
