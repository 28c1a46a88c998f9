"""How long a reply may take to arrive: a link over which it trickles is as good as cut.

The timeout of a socket is for each piece that it receives, so by itself it lets a reply take
forever whose bytes come one by one. Here it is for the whole reply, which gets more time only for
what has arrived: a large one may be slow.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from redis.connection import DefaultParser
from redis.exceptions import ConnectionError as LostConnectionError
from redis.utils import SENTINEL

if TYPE_CHECKING:
    from redis._parsers.hiredis import _HiredisParser as Base
else:
    Base = DefaultParser

_SLOWEST = 8 * 1024  # bytes in a second
_LEAST_S = 0.001  # to take what is here already: this process may have been stopped meanwhile


class PatientParser(Base):
    """Reads the replies on one connection for threads. Raises what its base raises, and OSError."""

    _began_s, _arrived = 0.0, 0  # when the wait for this reply began; bytes of it that are here

    def read_response(self, *args: Any, **named: Any) -> Any:
        """Return the next reply."""
        self._began_s, self._arrived = 0.0, 0
        return super().read_response(*args, **named)

    def read_from_socket(self, *args: Any, **named: Any) -> bool:
        """Receive another piece of the reply."""
        socket, reader = self._sock, self._reader
        if args or named.get("timeout", SENTINEL) is not SENTINEL or socket is None:
            return bool(super().read_from_socket(*args, **named))  # type: ignore[no-untyped-call]
        usual_s = socket.gettimeout()
        if self._began_s == 0.0 or usual_s is None:
            self._began_s = monotonic()
            size = socket.recv_into(self._buffer)
        else:
            ends_s = self._began_s + usual_s + self._arrived / _SLOWEST
            socket.settimeout(max(_LEAST_S, ends_s - monotonic()))
            try:
                size = socket.recv_into(self._buffer)
            finally:
                socket.settimeout(usual_s)
        if size == 0:
            raise LostConnectionError("Connection closed by server.")
        reader.feed(self._buffer, 0, size)  # type: ignore[arg-type] # its stub knows no bytearray
        self._arrived += size
        return True
