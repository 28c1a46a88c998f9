"""Does a text compile? Asked of a server, which keeps nothing of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import redis

from queuepool.process.embedded import EmbeddedServer
from queuepool.verbs.scripts import script
from tests.mutation.files import changed, users


class Compiler:
    """A server that compiles scripts."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def everywhere(self, file: str, source: bytes) -> bool:
        """Return whether all scripts that use a file compile with another text of it."""
        return all(self.each(made.source for made in changed({file: source}).values()))

    def somewhere(self, file: str, texts: Iterable[bytes]) -> list[bool]:
        """Return of each text whether the shortest script that uses the file compiles with it."""
        user = min(users()[file], key=lambda name: len(script(name).source))
        return self.each(changed({file: text}, user)[user].source for text in texts)

    def each(self, sources: Iterable[bytes]) -> list[bool]:
        """Return of each script whether it compiles."""
        loads = self._client.pipeline(transaction=False)
        for source in sources:
            loads.script_load(source)
        replies = loads.execute(raise_on_error=False)
        return [not isinstance(reply, redis.ResponseError) for reply in replies]

    def forget(self) -> None:
        """Forget all scripts: the more there are, the longer each takes."""
        self._client.script_flush()


@contextmanager
def compiler() -> Iterator[Compiler]:
    """Run a server that compiles scripts."""
    with EmbeddedServer(appendonly=False) as server:
        client = redis.Redis.from_url(server.url)
        yield Compiler(client)
        client.close()
