"""Which settings of a process are not at their defaults, as a person may read them."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

HIDDEN = "set, and not shown"


def changed(settings: BaseSettings) -> Iterator[tuple[str, str]]:
    """Yield (variable, value) of each that differs from its default, in the order of the fields.

    Secrets, and what may contain one as URLs do (repr=False), have HIDDEN for a value.
    """
    prefix = settings.model_config.get("env_prefix", "")
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if value != field.get_default(call_default_factory=True):
            yield f"{prefix}{name}".upper(), HIDDEN if _is_secret(field, value) else str(value)


def _is_secret(field: FieldInfo, value: object) -> bool:
    return not field.repr or isinstance(value, SecretStr)
