"""What an owner asks the homes of limits, beside its turns. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from consumer.core.limits.earlier import EVERY
from queuepool.verbs import Verb


@dataclass(frozen=True, slots=True)
class HomeCall:
    """One verb for the home of a limit; name "": for a partition, or EVERY one."""

    name: str
    verb: Verb[Any]
    partition: int = EVERY
