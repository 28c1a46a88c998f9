"""Conversion of JSON values to annotated types: which types are supported, and how.

    int, float, bool, str, datetime, date, time, timedelta, UUID, Decimal, Enum, Literal,
    dataclass, TypedDict, NamedTuple, attrs, msgspec Struct      by msgspec
    pydantic models and dataclasses                              by pydantic
    lists, dicts, sets, tuples, Optionals and unions of them     by whichever supports them
    anything else, Any, no annotation                            not at all

Values travel as JSON, so a string is converted to the annotated type: "7" to an int, as in the rows
of a CSV file. Where it could be several types, as of `Decimal | int`, the one that needs no such
conversion comes first: what was sent as that type arrives as it. pydantic is imported only for its
own classes.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Optional

import msgspec

from queuepool.errors import JobError
from queuepool.tasks.aliases import names_to_read_by

Convert = Callable[[Any], Any]
NO_MISMATCH = (JobError, MemoryError)  # whatever else the code of a type raises is one
SIMPLE = frozenset((int, float, bool, str))  # the exact types of JSON values
_MAY_READ_NULL = (  # the text, which lax conversion takes for None; `str` comes before that
    msgspec.inspect.BytesType,
    msgspec.inspect.ByteArrayType,
    msgspec.inspect.MemoryViewType,
    msgspec.inspect.EnumType,
    msgspec.inspect.LiteralType,
    msgspec.inspect.CustomType,
)
_LEFT_ALONE = (Any, object, inspect.Parameter.empty)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature without evaluating annotations, whose names may not exist yet."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


def note_text(note: Any) -> str | None:
    """Return the text of an unevaluated annotation; None if it is evaluated."""
    return note if isinstance(note, str) else getattr(note, "__forward_arg__", None)


def resolve(function: Callable[..., Any], note: Any) -> Any:
    """Return the type that an annotation of the function names. May raise anything."""
    home = inspect.unwrap(_bare(function))
    home = getattr(home, "__func__", home)

    def holder() -> None: ...

    holder.__annotations__ = {"it": note}
    free = getattr(getattr(home, "__code__", None), "co_freevars", ())
    cells = getattr(home, "__closure__", None) or ()
    local = {n: c.cell_contents for n, c in zip(free, cells, strict=False) if _is_filled(c)}
    names = getattr(home, "__globals__", None) or vars(sys.modules[home.__module__])
    return typing.get_type_hints(holder, names, local, include_extras=True)["it"]


def _bare(function: Callable[..., Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not hasattr(function, "__wrapped__"):
        return type(function).__call__
    return function


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def is_left_alone(annotation: Any) -> bool:
    """Return whether values of this annotation are passed unchanged."""
    return any(annotation is kind for kind in _LEFT_ALONE)


def optional(annotation: Any) -> Any:
    """Return the annotation that also allows None."""
    return Optional[annotation]  # noqa: UP045 - an annotation may be anything, | asks for types


def is_text(annotation: Any) -> bool:
    """Return whether it is `str`, or `str | None`."""
    return annotation is str or set(typing.get_args(annotation)) == {str, type(None)}


def is_pydantic(kind: object) -> bool:
    """Return whether it is a pydantic model or dataclass; imports nothing."""
    return isinstance(kind, type) and hasattr(kind, "__pydantic_core_schema__")


def mentions_pydantic(annotation: Any) -> bool:
    """Return whether the annotation contains pydantic classes at any depth."""
    return is_pydantic(annotation) or any(map(mentions_pydantic, typing.get_args(annotation)))


def is_convertible(annotation: Any) -> bool:
    """Return whether msgspec can convert JSON to it, including nested pydantic models."""
    if annotation in SIMPLE:
        return True
    try:
        nodes = list(_nodes(msgspec.inspect.type_info(annotation)))
    except (TypeError, RecursionError):
        return False
    return all(
        is_pydantic(node.cls) for node in nodes if isinstance(node, msgspec.inspect.CustomType)
    )


def has_odd_keys(annotation: Any) -> bool:
    """Return whether it has dicts with keys other than strings, which JSON lacks."""
    if annotation in SIMPLE:
        return False
    texts = (msgspec.inspect.StrType, msgspec.inspect.AnyType)
    return any(
        isinstance(node, msgspec.inspect.DictType) and not isinstance(node.key_type, texts)
        for node in _nodes(msgspec.inspect.type_info(annotation))
    )


def holds_models(annotation: Any) -> bool:
    """Return whether a convertible annotation has nested pydantic models."""
    custom = msgspec.inspect.CustomType
    nodes = () if annotation in SIMPLE else _nodes(msgspec.inspect.type_info(annotation))
    return any(isinstance(node, custom) for node in nodes)


def _nodes(root: Any) -> Iterator[Any]:
    waiting, seen = [root], {id(root)}
    for node in waiting:
        yield node
        for name in node.__struct_fields__:
            value = getattr(node, name)
            for inner in value if isinstance(value, tuple) else (value,):
                known = isinstance(inner, (msgspec.inspect.Type, msgspec.inspect.Field))
                if known and id(inner) not in seen:
                    seen.add(id(inner))
                    waiting.append(inner)


def is_ambiguous(annotation: Any) -> bool:
    """Return whether a JSON value of one of its types may look like another one's, as text does."""
    if annotation in SIMPLE:
        return False
    return any(map(_has_a_choice, _nodes(msgspec.inspect.type_info(annotation))))


def _has_a_choice(node: Any) -> bool:
    if isinstance(node, msgspec.inspect.LiteralType):
        return len(set(map(type, node.values))) > 1
    if not isinstance(node, msgspec.inspect.UnionType):
        return False
    own = [kind for kind in node.types if not isinstance(kind, msgspec.inspect.NoneType)]
    return len(own) > 1 or isinstance(own[0], _MAY_READ_NULL)


def by_msgspec(annotation: Any) -> Convert:
    """Return a converter from JSON values to this type; it raises whatever the type raises."""
    exact, lax = (
        functools.partial(
            msgspec.convert, type=annotation, strict=strict, str_keys=True, dec_hook=make_model
        )
        for strict in (True, False)
    )
    if not is_ambiguous(annotation):
        return lax

    def convert(value: Any) -> Any:
        try:
            return exact(value)
        except msgspec.ValidationError:
            return lax(value)

    return convert


def by_pydantic(annotation: Any) -> Convert:
    """Return a converter from JSON values to models; it raises whatever the models raise."""
    from pydantic import VERSION, TypeAdapter

    adapter = TypeAdapter(annotation)
    if not getattr(adapter, "pydantic_complete", True):
        adapter.rebuild(raise_errors=True)  # now, not with the first job
    # Models are sent with their field names, regardless of aliases.
    names: dict[str, Any] = names_to_read_by(annotation) if _number(VERSION) >= (2, 11) else {}

    def convert(value: Any) -> Any:
        return adapter.validate_json(msgspec.json.encode(value), **names)

    return convert


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


_model_makers: dict[type, Convert] = {}


def make_model(kind: type, value: Any) -> Any:
    """Return a pydantic model nested in another type; the hook that msgspec calls."""
    known = _model_makers.get(kind)
    if known is None:
        known = _model_makers[kind] = by_pydantic(kind)
    return known(value)


def shown_type(annotation: Any) -> str:
    """Return an annotation as source code shows it."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "")


def why_not(error: Exception) -> str:
    """Return why a value could not be converted, by what the code of its type raised."""
    text = str(error)
    if not isinstance(error, (ValueError, TypeError)):  # of a type's own code
        return f"{type(error).__name__}: {text}"[:500]
    details = getattr(error, "errors", None)
    if callable(details):  # of pydantic: several lines, with a link in each
        found = details(include_url=False, include_context=False, include_input=False)
        text = "; ".join(
            ".".join(map(str, e["loc"])) + (": " if e["loc"] else "") + e["msg"] for e in found[:3]
        )
    return text[:500]
