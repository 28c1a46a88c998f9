"""pydantic models in which a field's alias is the name of another field. Imports no pydantic.

    class Item(BaseModel):                    # our id is their external_id
        id: int = Field(alias="external_id")
        external_id: int = Field(alias="id")

Models are sent with the names of their fields, unless they have serialize_by_alias, and other
producers may use either. Where the two contradict each other, only names are read.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any


def names_to_read_by(annotation: Any) -> dict[str, bool]:
    """Return by which names the fields of an annotation's models are validated.

    Where both are allowed, pydantic prefers aliases.
    """
    return {"by_name": True, "by_alias": not any(map(_contradicts_itself, _models_in(annotation)))}


def _models_in(annotation: Any) -> Iterator[Any]:
    waiting, seen = [annotation], set()
    for each in waiting:  # it grows
        if id(each) in seen:
            continue
        seen.add(id(each))
        waiting += typing.get_args(each)
        fields = _fields_of(each)
        if fields:
            yield each
        waiting += [field.annotation for field in fields.values()]


def _fields_of(kind: Any) -> dict[str, Any]:
    fields = getattr(kind, "__pydantic_fields__", None) if isinstance(kind, type) else None
    return fields if isinstance(fields, dict) else {}


def _contradicts_itself(kind: Any) -> bool:
    """Return whether an alias of a field is the name by which another one is sent."""
    fields = _fields_of(kind)
    by_alias = getattr(kind, "model_config", {}).get("serialize_by_alias")
    sent = {n: (by_alias and field.serialization_alias) or n for n, field in fields.items()}
    return any(
        alias != sent[name] and alias in sent.values()
        for name, field in fields.items()
        for alias in _texts_of(field.validation_alias)
    )


def _texts_of(alias: Any) -> Iterator[Any]:
    if isinstance(alias, str):
        yield alias
    for choice in getattr(alias, "choices", ()):
        yield from _texts_of(choice)
    yield from getattr(alias, "path", ())[:1]
