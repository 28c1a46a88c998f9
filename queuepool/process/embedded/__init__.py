"""A Redis-compatible server that lives and dies with this process.

Meant for laptops, demos and tests: with your own server, pass its URL to `QueuePool` instead. The
server is a real process, reachable only from this machine, and supports every command.

Without a data directory it stores nothing. With one it appends every write to a file there,
synced each second, so jobs survive restarts, and a power cut costs at most the last second.

    binary      which server program to run
    directory   where it keeps its files, locked against other servers
    process     the server itself: start, stop, crash
"""

from queuepool.process.embedded.binary import find_server_binary
from queuepool.process.embedded.errors import EmbeddedServerError
from queuepool.process.embedded.process import EmbeddedServer

__all__ = ["EmbeddedServer", "EmbeddedServerError", "find_server_binary"]
