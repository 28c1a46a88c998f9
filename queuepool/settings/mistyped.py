"""Variables that are almost settings: typing mistakes, of which nothing else would tell. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from pydantic_settings import BaseSettings

_OF_THE_PAGE = "QUEUEPOOL_WEB_"  # names of its settings may resemble those of the pool
_NEAR = 0.7  # of get_close_matches: one letter of four may be another, or two be exchanged


def mistyped(variables: Iterable[str], *settings: type[BaseSettings]) -> Iterator[str]:
    """Yield a sentence for each variable that resembles one of these settings, and is none.

    Other programs' variables may begin as ours do, so what resembles none is passed over.
    """
    known = {name for kind in settings for name in names_of(kind)}
    for variable in sorted(variables):
        name = variable.upper()
        if name not in known and (meant := _meant_by(name, settings)):
            yield f"{variable} is set, but there is no such setting; do you mean {meant}?"


def _meant_by(name: str, settings: Iterable[type[BaseSettings]]) -> str:
    for kind in settings:
        prefix = _prefix_of(kind)
        if name.startswith(prefix) and name.startswith(_OF_THE_PAGE) == (prefix == _OF_THE_PAGE):
            ends = {known.removeprefix(prefix): known for known in names_of(kind)}
            for near in get_close_matches(name.removeprefix(prefix), ends, 1, _NEAR):
                return ends[near]
    return ""


def names_of(settings: type[BaseSettings]) -> list[str]:
    """Return the variables of these settings, former names included."""
    names = [*settings.model_fields, *getattr(settings, "old_names", {}).values()]
    return [_prefix_of(settings) + name.upper() for name in names]


def _prefix_of(settings: type[BaseSettings]) -> str:
    return settings.model_config.get("env_prefix", "").upper()
