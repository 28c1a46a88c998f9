"""Pages of jobs and of batches, as steps: a page, and a token from which the next one goes on.

    token = base64 of  partition/pool:cursor      of the first place that has more; of jobs,
                       partition/pool:part;cursor  with the part of a group that is spread

Nothing is kept between two pages, so anyone may ask for the next one, however late. One place
(partition and pool) comes after the other; a page looks at a bounded number of jobs or batches,
found or not, and so may be empty although more follow.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import replace

from queuepool.client.effects import Steps
from queuepool.client.questions import ask, places_of
from queuepool.client.routes import Route
from queuepool.client.walking import Sought, seek
from queuepool.errors import InvalidInputError
from queuepool.models import JobStatus
from queuepool.models.finding import JobFilter
from queuepool.models.flows import BatchLine
from queuepool.models.places import DEFAULT_POOL
from queuepool.routing.spreading import MOST_PARTS
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.operator import finding

Place = tuple[int, str]
LOOKED = 10_000  # jobs or batches that a page looks at
_AT_ONCE = 200
_LEAST = 50  # jobs that a call looks at where all that match are returned
_LONGEST = 1000
_TOKEN = re.compile(rb"([0-9]{1,5})/([A-Za-z0-9_.-]{1,64}):(.*)", re.DOTALL)
_OF_FLOWS = ("s", "g")  # batches that are parts of one


def token_of(place: Place, cursor: bytes) -> str:
    """Return the token of a page that begins there."""
    return urlsafe_b64encode(b"%d/%s:%s" % (place[0], place[1].encode(), cursor)).decode()


def read_token(token: str) -> tuple[Place, bytes]:
    """Return where a page begins. Raises InvalidInputError."""
    found = None
    if len(token) <= _LONGEST and token.isascii():
        try:
            found = _TOKEN.fullmatch(urlsafe_b64decode(token))
        except binascii.Error:
            found = None
    if found is None:
        raise InvalidInputError(
            "page_token: pass the next_page_token of the previous page, unchanged"
        )
    return (int(found[1]), found[2].decode()), found[3]


def read_offset(token: str, most: int) -> int:
    """Return at which place of a list a page begins. Raises InvalidInputError."""
    if not token:
        return 0
    if token.isascii() and token.isdecimal() and len(token) <= 9 and int(token) <= most:
        return int(token)
    raise InvalidInputError("page_token: pass the next_page_token of the previous page, unchanged")


def _order(place: Place) -> tuple[int, bool, str]:
    return place[0], place[1] != DEFAULT_POOL, place[1]


def _from(places: Sequence[Place], token: str) -> tuple[list[Place], bytes]:
    """Return the places that are left, and where to begin in the first of them."""
    if not token:
        return list(places), b""
    begins, cursor = read_token(token)
    left = [place for place in places if _order(place) >= _order(begins)]
    return left, cursor if left and left[0] == begins else b""


def jobs_page(
    config: PoolConfig,
    where: JobFilter,
    *,
    token: str,
    size: int,
    partition: int | None,
    pool: str | None,
    route: Route | None = None,
) -> Steps[tuple[list[JobStatus], str]]:
    """Return jobs that match, about `size` of them at most, and the token of the next page.

    route: of the group that the filter names, if it names one.
    """
    sought = yield from seek(config, partition, pool, route)
    left, cursor = _from_part(sorted(sought, key=lambda s: (_order(s.place), s.part)), token)
    found: list[JobStatus] = []
    looked = 0
    while left and len(found) < size and looked < LOOKED:
        (number, name), group, _ = left[0]
        wanted = min(size - len(found), _AT_ONCE)
        look = max(wanted, _LEAST) if finding.kind_of(where) == "any" else finding.LOOK
        verb = finding.find(number, replace(where, group=group), cursor, most=wanted, look=look)
        page = yield from ask(config.of(name), number, verb)
        named = None if name == DEFAULT_POOL else name
        found += [replace(job, pool=named) for job in page.jobs if where.matches(job)]
        looked, cursor = looked + max(1, page.looked), page.cursor
        if not cursor:
            left.pop(0)
    if not left:
        return found, ""
    return found, token_of(left[0].place, b"%d;" % left[0].part + cursor)


def _from_part(sought: Sequence[Sought], token: str) -> tuple[list[Sought], bytes]:
    """Return the places that are left, and where to begin in the first of them."""
    if not token:
        return list(sought), b""
    place, text = read_token(token)
    number, _, cursor = text.partition(b";")
    part = read_offset(number.decode("ascii", "replace"), MOST_PARTS)
    begins = (_order(place), part)
    left = [one for one in sought if (_order(one.place), one.part) >= begins]
    return left, cursor if left and (_order(left[0].place), left[0].part) == begins else b""


def batches_page(
    config: PoolConfig, *, token: str, size: int
) -> Steps[tuple[list[BatchLine], str]]:
    """Return batches, without the parts of flows, and the token of the next page."""
    left, cursor = _from((yield from places_of(config, None)), token)
    offset = read_offset(cursor.decode("ascii", "replace"), 10**9)
    found: list[BatchLine] = []
    looked = 0
    while left and len(found) < size and looked < LOOKED:
        number, name = left[0]
        count = min(size - len(found), _AT_ONCE)
        there, lines = yield from ask(config.of(name), number, flow.batches(offset, count))
        found += [line for line in lines if line.part not in _OF_FLOWS]
        looked, offset = looked + max(1, len(lines)), offset + len(lines)
        if not lines or offset >= there:
            left.pop(0)
            offset = 0
    return found, token_of(left[0], b"%d" % offset if offset else b"") if left else ""
