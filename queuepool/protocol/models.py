"""Pydantic models as plain values, except those that would arrive changed. Imports no pydantic.

Pydantic masks secrets (SecretStr and its kin) and omits fields declared with `exclude`. Once per
class, annotations tell whether either may occur; then each value is compared with its plain form. A
secret that a serializer of the class reveals is not lost, nor is an excluded field at its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, get_args

_MASK = "**********"
_MISSING = object()


def plain_model(value: Any) -> Any:
    """Return a pydantic model as plain values; the hook for types that msgspec does not know.

    Raises TypeError for another type, and for a model that would arrive changed.
    """
    kind: Any = type(value)
    if not (hasattr(kind, "__pydantic_serializer__") and hasattr(value, "model_dump")):
        raise TypeError(f"Encoding objects of type {kind.__name__} is unsupported")
    plain = value.model_dump(mode="json", round_trip=True)
    if _may_lose(kind) and (lost := next(_lost(value, plain, kind.__name__), None)):
        raise TypeError(lost)
    return plain


@lru_cache(1024)
def _may_lose(kind: Any) -> bool:
    """Return whether models of a class may hold secrets or excluded fields, at any depth."""
    waiting: list[Any] = [kind]
    for each in waiting:  # it grows
        if hasattr(each, "get_secret_value"):
            return True
        fields = _fields_of(each).values()
        if any(field.exclude for field in fields):
            return True
        parts = (*get_args(each), *(field.annotation for field in fields))
        for inner in (*parts, getattr(each, "__value__", None)):  # of a type alias
            if inner not in waiting:
                waiting.append(inner)
    return False


def _fields_of(kind: Any) -> Mapping[str, Any]:
    return getattr(kind, "model_fields", {}) if isinstance(kind, type) else {}


def _lost(value: Any, plain: Any, place: str) -> Iterator[str]:
    """Yield what the plain form of a value does not say. place: its class and field."""
    if hasattr(value, "get_secret_value"):
        if value.get_secret_value() and plain in (str(value), _MASK):
            yield (
                f"{place} is a {type(value).__name__}, which would arrive masked; pass the "
                "secret's name, or its get_secret_value() as text"
            )
    elif fields := _fields_of(type(value)):
        if getattr(value, "__pydantic_root_model__", False):
            plain = {"root": plain}
        for name, field in fields.items() if isinstance(plain, dict) else ():
            held, own = getattr(value, name, None), f"{type(value).__name__}.{name}"
            if not field.exclude:
                yield from _lost(held, plain.get(name), own)
            elif held != _default(field):
                yield f"{own} is declared with exclude and would not arrive; pass it separately"
    elif isinstance(value, dict) and isinstance(plain, dict):
        for held, sent in zip(value.values(), plain.values(), strict=False):
            yield from _lost(held, sent, place)
    elif isinstance(value, (list, tuple, set, frozenset)) and isinstance(plain, list):
        for held, sent in zip(value, plain, strict=False):
            yield from _lost(held, sent, place)


def _default(field: Any) -> Any:
    try:
        return field.get_default(call_default_factory=True)
    except (TypeError, ValueError):  # a factory that takes other fields
        return _MISSING
