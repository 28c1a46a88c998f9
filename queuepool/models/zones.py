"""Time zones by name. Pure, but that the system's files of zones are read."""

from __future__ import annotations

import re
from datetime import tzinfo
from functools import lru_cache

from queuepool.errors.escaping import shown

_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name. Raises ValueError."""
    from zoneinfo import ZoneInfo  # costs a start that needs no zone

    try:
        if _ZONE.fullmatch(name):
            return ZoneInfo(name)
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        pass
    except KeyError:
        pass
    raise ValueError(
        f"there is no time zone {shown(name)} here: use a name such as Europe/Berlin or UTC (on "
        "systems without time zones, install the package tzdata)"
    )
