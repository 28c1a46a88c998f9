"""What an import notes on the other server about the page that it moves.

    queuepool:import:<library>:<queue>   HASH
        page           the options of the import, the groups it holds, and where the page is
        <job id here>  how the job is removed there

A job is noted before it is enqueued here, and struck in the same step that removes it there. So of
a noted job that is not there any more, it is known that someone else took it: not that the reply to
a removal was lost. The note is deleted when no job of the page is in both places, and the groups
are released.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from queuepool.cli.imports.foreign import Entry
from queuepool.cli.imports.source import PAGE, Source, Walk
from queuepool.errors import ConfigurationError
from queuepool.verbs.scripts import named

_HEAD = b"page"
_FILE = Path(__file__).with_name("remove.lua")


class Page(msgspec.Struct, array_like=True, frozen=True):
    """Where a page is, and what it is moved with. direction: that of its walk.

    first: how many entries stood before it.
    """

    options: list[str]
    groups: list[bytes]
    place: bytes
    direction: int
    first: int

    @classmethod
    def of(cls, options: list[str], groups: list[bytes], walk: Walk) -> Page:
        """Return the page that a walk has just read."""
        return cls(options, groups, walk.place, walk.direction, walk.left)


@dataclass(frozen=True, slots=True)
class Noted:
    """A job of the page: its task and group here, and what removes it there (see Entry)."""

    task: str
    group: bytes
    member: bytes
    guard: bytes
    owned: tuple[bytes, bytes]
    keys: tuple[bytes, ...]

    @classmethod
    def of(cls, entry: Entry, task: str, group: bytes) -> Noted:
        """Return what is noted of an entry."""
        return cls(task, group, entry.member, entry.guard, entry.owned, entry.keys)

    def packed(self) -> bytes:
        """Return the fields as `remove` reads them."""
        parts = (self.task.encode(), self.group, self.member, self.guard, *self.owned, *self.keys)
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

    @classmethod
    def unpacked(cls, raw: bytes) -> Noted:
        """Return what `packed` wrote. Raises ValueError."""
        parts, at = list[bytes](), 0
        while at < len(raw):
            first = at + 4
            at = first + int.from_bytes(raw[at:first], "big")
            parts.append(raw[first:at])
        task, group, member, guard, key, value, *keys = parts
        return cls(task.decode(), group, member, guard, (key, value), tuple(keys))


class Note:
    """The note of one queue."""

    def __init__(self, source: Source, key: bytes) -> None:
        self._source, self.key = source, key
        self._code = named("remove", _FILE.read_bytes()).code

    def read(self) -> tuple[Page, dict[str, Noted]] | None:
        """Return what an interrupted import left. Raises ConfigurationError for anything else."""
        flat = self._source.one("HGETALL", self.key)
        stored = dict(zip(flat[::2], flat[1::2], strict=True))
        if not stored:
            return None
        try:
            page = msgspec.msgpack.decode(stored.pop(_HEAD), type=Page)
            jobs = {job_id.decode(): Noted.unpacked(noted) for job_id, noted in stored.items()}
        except (KeyError, ValueError):
            raise ConfigurationError(
                f"{self._source.name}: {self.key.decode()} is not a record of an import; inspect "
                "and delete it"
            ) from None
        return page, jobs

    def write(self, page: Page, jobs: Mapping[str, Noted]) -> None:
        """Note a page, or further jobs of it."""
        words: list[str | bytes] = [_HEAD, msgspec.msgpack.encode(page)]
        for job_id, noted in jobs.items():
            words += (job_id, noted.packed())
        self._source.one("HSET", self.key, *words)

    def remove(self, page: Page, job_ids: Sequence[str]) -> list[int]:
        """Remove noted jobs there; return how often each was there. 0: it stays in the note."""
        where = (page.direction, page.first, PAGE, f"queuepool:removed:{secrets.token_hex(16)}")
        keys = (self.key, page.place)
        counts = self._source.one("EVAL", self._code, len(keys), *keys, *where, *job_ids)
        return [int(count) for count in counts]

    def strike(self, job_id: str) -> None:
        """Forget a job that is in one place only."""
        self._source.one("HDEL", self.key, job_id)

    def delete(self) -> None:
        """Forget the page."""
        self._source.one("DEL", self.key)
