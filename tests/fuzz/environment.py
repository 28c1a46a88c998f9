"""An environment of settings, made from bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pydantic_settings import BaseSettings

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from queuepool.settings.environment import QueuePoolSettings
from tests.fuzz.supply import Supply

_KINDS: tuple[type[BaseSettings], ...] = (QueuePoolSettings, ConsumerSettings, CoordinatorSettings)
_PREFIXES = tuple(str(kind.model_config["env_prefix"]) for kind in _KINDS)
PASSWORD = "hunter22"
_WORDS = (
    b"redis://u:hunter22@h:1/0", b"http://u:hunter22@h:x", b'{"a":"redis://u:hunter22@h/x"}',
    b"0", b"1", b"-1", b"100", b"1e300", b"inf", b"nan", b"9" * 5_000, b"0.25", b"true", b"null",
    b"{}", b'{"a":"redis://h"}', b"auto", b"strict", b"pwqd", b"aimd", b"redis://h",
    b"redis://h:99999", b"rediss://u:p@h/0?ssl_ca_certs=/dev/null", b"0-3=main", b"6,3,2,1",
    b"INFO", b"/dev/null", b"/", b"",
)  # fmt: skip


@contextmanager
def only(supply: Supply) -> Iterator[tuple[type[BaseSettings], Mapping[str, str]]]:
    """Set some variables of one kind of settings, and no others of ours, until the block ends."""
    before = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_PREFIXES)}
    kind = supply.one_of(_KINDS)
    prefix, fields = _PREFIXES[_KINDS.index(kind)], list(kind.model_fields)
    made = {}
    for _ in range(supply.below(6)):
        name = f"{prefix}{supply.one_of(fields).upper()}"
        value = supply.raw() if supply.below(2) else supply.one_of(_WORDS)
        made[name] = os.fsdecode(value.replace(b"\0", b""))
    os.environ.update(made)
    try:
        yield kind, made
    finally:
        for name in made:
            os.environ.pop(name, None)
        os.environ.update(before)
