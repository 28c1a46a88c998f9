"""A Redis-compatible server that lives and dies with this process.

Meant for laptops, demos and tests: whoever has a server of their own gives its URL to
`QueuePool` and never comes here. The server is a real process, reachable from this machine
only, and every command of a real server works on it.

Without a data directory it keeps nothing. With one it appends every write to a file there,
synced each second, so jobs outlive restarts and a power cut costs at most the last second.

    binary      which server program is run
    directory   where it keeps its files, and that no one else does
    process     the server itself: start, stop, crash
"""

from queuepool.embedded.binary import find_server_binary
from queuepool.embedded.errors import EmbeddedServerError
from queuepool.embedded.process import EmbeddedServer

__all__ = ["EmbeddedServer", "EmbeddedServerError", "find_server_binary"]
