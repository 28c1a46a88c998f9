"""The signature of a handler: checked when a job is enqueued, applied before the handler runs.

    enqueue, if the task is registered        checks names, then whether values can be converted
    consumer                                  converts each value, or raises BadPayloadError

A mismatch is whatever the code of a type raises, such as a `__post_init__`. Not so a JobError, such
as the timeout of the handler that enqueues, or a lack of memory: these reach the caller.

Only enqueue checks names: a job with extra or missing arguments comes from another version of the
code, and a later attempt may run on the right one. Converters are prepared at first use, when every
name that an annotation mentions exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, NoReturn

import msgspec

from queuepool.errors import BadPayloadError, InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.protocol.codec import refuse_lost_names
from queuepool.tasks import conversion
from queuepool.tasks.annotations import Annotations, Argument, context_parameter, is_for_context

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_TEXTS = frozenset((str,))

Check = Callable[[Mapping[str, Any], bytes], None]


class Signature:
    """Checks and converts the arguments of one task. Safe to share between threads.

    convert: None once it is known that nothing needs conversion.
    """

    __slots__ = (
        "_any_name", "_decoder", "_exact", "_form", "_function", "_hook", "_needed", "_odd_keys",
        "_others", "_parameters", "_read_result", "_special", "_strict", "_task", "context",
        "convert", "names",
    )  # fmt: skip

    def __init__(self, task: str, function: Callable[..., Any], context: str | None) -> None:
        """Read a signature. context: the parameter that receives it; None: look for one.

        Raises InvalidInputError for a signature that a payload cannot fill.
        """
        self._task, self._function = task, function
        try:
            parameters = list(conversion.signature_of(function).parameters.values())
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"task {task!r}: {shown(function)} has no readable signature; wrap it in a function"
            ) from None
        self.context = context or context_parameter(parameters)
        own = [p for p in parameters if p.name != self.context]
        self._refuse_unfillable(own)
        self._parameters = {p.name: p for p in own if p.kind in _NAMED}
        self.names = frozenset(self._parameters)
        self._needed = frozenset(
            p.name for p in self._parameters.values() if p.default is Parameter.empty
        )
        self._others = next((p for p in own if p.kind is Parameter.VAR_KEYWORD), None)
        self._any_name = self._others is not None
        self._special: dict[str, Argument] | None = None
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._form: Any = None
        self._odd_keys = self._strict = False
        self._hook: Callable[[type, Any], Any] | None = None
        self._exact: dict[str, Any] = {}
        self._read_result: conversion.Convert | None = None
        self.convert: Callable[[dict[str, Any]], dict[str, Any]] | None = self._first_convert

    def _refuse_unfillable(self, own: list[Parameter]) -> None:
        task = self._task
        if own and own[0].name == "self" and _is_in_a_class(self._function):
            raise InvalidInputError(
                f"task {task!r} is a method, and a job has no object for its `self`: make it a "
                "function, or register the method of an object: task(obj.method)"
            )
        for parameter in own:
            if parameter.default is not Parameter.empty:
                continue
            name = parameter.name
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                raise InvalidInputError(
                    f"task {task!r}: its parameter {name!r} is positional-only, but "
                    "payload fields are passed by name: move it after the `/`"
                )
            if parameter.kind in _NAMED and is_for_context(parameter):
                raise InvalidInputError(
                    f"task {task!r}: {self.context!r} receives the context, so nothing can fill "
                    f"{name!r}, which is a JobContext, too: remove it, or give it a default"
                )

    @property
    def task(self) -> str:
        """Return the task's name."""
        return self._task

    def takes(self, name: str) -> bool:
        """Return whether a payload may have a field of this name."""
        return name in self.names or (self._any_name and name != self.context)

    def refuse_context(self) -> NoReturn:
        """Raise TypeError for a field that is named as the context, as a call does for others."""
        name = getattr(self._function, "__qualname__", self._task)
        raise TypeError(f"{name}() got an unexpected keyword argument {self.context!r}")

    def default_of(self, name: str) -> Any:
        """Return what the function takes for a field that is left out, None if it has nothing."""
        parameter = self._parameters.get(name)
        default = Parameter.empty if parameter is None else parameter.default
        return None if default is Parameter.empty else default

    def argument(self, name: str) -> Argument | None:
        """Return how the values of a payload's field are converted; None: not at all."""
        self.prepare()
        return (self._special or {}).get(name if name in self.names else "")

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the payload that a call means. Raises InvalidInputError."""
        if not args:
            return kwargs
        places = [n for n, p in self._parameters.items() if p.kind in _POSITIONAL]
        if len(args) > len(places):
            raise InvalidInputError(
                f"task {self._task!r} takes {len(places)} arguments by position, not {len(args)}; "
                "nothing was enqueued"
            )
        payload = dict(zip(places, args, strict=False))
        if twice := payload.keys() & kwargs.keys():
            raise InvalidInputError(
                f"task {self._task!r}: argument {min(twice)!r} is given twice; nothing was enqueued"
            )
        return payload | kwargs

    def check(self, payload: Mapping[str, Any], envelope: bytes) -> None:
        """Raise InvalidInputError unless the payload, encoded in the envelope, fits."""
        keys = payload.keys()
        if self._any_name:
            takes = self.context not in keys and (not self._needed or keys >= self._needed)
            if not (takes and _TEXTS.issuperset(map(type, keys))):
                self._check_names(keys)
                refuse_lost_names(self._task, payload)
        elif keys != self.names:
            self._check_names(keys)
        if self._special is None:
            self._prepare()
        if self._decoder is not None:
            try:
                self._decoder.decode(envelope)
                return
            except conversion.NO_MISMATCH:
                raise
            except Exception:  # noqa: S110 - checked one by one below
                pass  # which one, and whether it is tolerable
        elif not self._special:
            return
        try:
            self._each(msgspec.json.decode(envelope)[1])
        except BadPayloadError as error:
            raise InvalidInputError(f"{error}. Nothing was enqueued for it.") from None
        except RecursionError:
            raise InvalidInputError(
                f"task {self._task!r}: its arguments are nested too deeply to be decoded again. "
                "Nothing was enqueued for it."
            ) from None

    def read_result(self, result: Any) -> Any:
        """Return a result converted to the annotated return type.

        Raises UndecodableError when it is something else.
        """
        if self._special is None:
            self._prepare()
        if self._read_result is None or result is None:
            return result
        return self._read_result(result)

    def _check_names(self, keys: Any) -> None:
        problems = []
        if missing := self._needed - keys:
            problems.append(f"misses {_listed(missing)}")
        unknown = keys & ({self.context} - {None}) if self._any_name else keys - self.names
        if unknown:
            problems.append(f"has no {_listed(unknown)}")
        if problems:
            takes = _listed(self._parameters) if self._parameters else "none"
            raise InvalidInputError(
                f"task {self._task!r} {' and '.join(problems)} (its arguments: {takes}). "
                "Nothing was enqueued for it."
            )

    def _first_convert(self, payload: dict[str, Any]) -> dict[str, Any]:
        self.prepare()
        return payload if self.convert is None else self.convert(payload)

    def prepare(self) -> None:
        """Resolve the annotations once. Never fails; warns about those it cannot use."""
        if self._special is None:
            self._prepare()

    def _prepare(self) -> None:
        plain: dict[str, Any] = {}
        special: dict[str, Argument] = {}
        annotations = Annotations(self._task, self._function)
        for name, parameter in self._parameters.items():
            found = annotations.argument(name, parameter)
            if found is not None:
                special[name] = found
                if found.by_msgspec:
                    plain[name] = found.annotation
        if self._others is not None:
            found = annotations.argument(self._others.name, self._others)
            if found is not None:
                special[""] = found
        self._read_result = annotations.result_reader()
        if plain:
            arguments = _typed_dict(plain)
            self._form = msgspec.defstruct(
                "Form", [("payload", arguments)], array_like=True, gc=False
            )
            self._odd_keys = any(map(conversion.has_odd_keys, plain.values()))
            # Then what is not of an annotated type yet is converted separately, and only that.
            self._strict = any(map(conversion.is_ambiguous, plain.values()))
            if any(map(conversion.holds_models, plain.values())):
                self._hook = conversion.make_model
            if len(plain) == len(special) and set(plain.values()) <= conversion.SIMPLE:
                self._exact = plain
        if plain and len(plain) == len(special):  # otherwise each one is converted separately
            envelope = msgspec.defstruct(
                "Envelope", [("task", str), ("payload", arguments)], array_like=True, gc=False
            )
            self._decoder = msgspec.json.Decoder(envelope, strict=self._strict, dec_hook=self._hook)
        self.convert = self._convert if special else None
        self._special = special  # last: a thread that sees it also sees the rest

    def _convert(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the handler. Raises BadPayloadError, naming the argument."""
        exact = self._exact
        if exact:  # the usual case: plain values that fit
            for name, value in payload.items():
                if type(value) is not exact.get(name):
                    break
            else:
                return payload
        if self._decoder is None or self._odd_keys:
            return self._each(payload)
        try:
            form = msgspec.convert((payload,), self._form, strict=self._strict, dec_hook=self._hook)
        except conversion.NO_MISMATCH:
            raise
        except Exception:
            return self._each(payload)
        arguments: dict[str, Any] = form.payload
        return arguments if len(arguments) == len(payload) else payload | arguments

    def _each(self, payload: dict[str, Any]) -> dict[str, Any]:
        arguments = dict(payload)
        for name, value in payload.items():
            wanted = self.argument(name)
            if wanted is None:
                continue
            try:
                arguments[name] = wanted.make(value)
            except (*conversion.NO_MISMATCH, RecursionError):
                raise
            except Exception as error:
                raise BadPayloadError(
                    f"task {self._task!r}: argument {name!r} must be "
                    f"{conversion.shown_type(wanted.annotation)} and is {shown(value)}: "
                    f"{conversion.why_not(error)}",
                    argument=name,
                ) from None
        return arguments


def _typed_dict(fields: dict[str, Any]) -> Any:
    """Return a TypedDict of these fields, all of them optional."""
    from typing import TypedDict

    return TypedDict("Arguments", fields, total=False)  # type: ignore[operator]


def _is_in_a_class(function: Callable[..., Any]) -> bool:
    home = getattr(function, "__qualname__", "").rpartition(".")[0]
    return bool(home) and not home.endswith("<locals>")


def _listed(names: Any) -> str:
    return ", ".join(repr(shown(n)[1:-1]) if isinstance(n, str) else shown(n) for n in names)
