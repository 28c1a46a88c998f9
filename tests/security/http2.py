"""A client of HTTP/2 that does what no library does: half of a request, any bytes as names."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from types import TracebackType
from typing import Self

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _CONTINUATION = 0, 1, 4, 9
_END_STREAM, _END_HEADERS, _ACK = 0x1, 0x4, 0x1
_FRAME = 16_384
Headers = Iterable[tuple[bytes, bytes]]


class RawConnection:
    """One plain connection, on which streams are opened and whatever comes back is kept."""

    def __init__(self, address: str, *, agree: bool = True, greet: bool = True) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), 60)
        # Else half of a call waits for the acknowledgement of the other half, 40 ms.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream, self._buffer = -1, b""
        if greet:
            self.socket.sendall(_PREFACE + _frame(_SETTINGS, 0, 0, b""))
        if greet and agree:
            self.socket.sendall(_frame(_SETTINGS, _ACK, 0, b""))

    def call(
        self, path: bytes, message: bytes | None = b"", headers: Headers = (), *, end: bool = True
    ) -> int:
        """Open a stream; returns its number. message: None sends none, and leaves the call open."""
        self._stream += 2
        basic = (
            (b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"x"),
            (b"te", b"trailers"), (b"content-type", b"application/grpc"),
        )  # fmt: skip
        block = b"".join(_literal(name, value) for name, value in (*basic, *headers))
        parts = [block[i : i + _FRAME] for i in range(0, len(block), _FRAME)]
        kinds = [_HEADERS] + [_CONTINUATION] * (len(parts) - 1)
        flags = [0] * (len(parts) - 1) + [_END_HEADERS]
        sent = b"".join(
            _frame(kind, flag, self._stream, part)
            for kind, flag, part in zip(kinds, flags, parts, strict=True)
        )
        self.socket.sendall(sent)
        if message is not None:
            self.send(b"\0" + struct.pack(">I", len(message)) + message, end=end)
        return self._stream

    def send(self, data: bytes, *, end: bool = True) -> None:
        """Send bytes of the newest stream's body, as they are."""
        parts = [data[i : i + _FRAME] for i in range(0, len(data), _FRAME)] or [b""]
        for number, part in enumerate(parts, 1):
            flags = _END_STREAM if end and number == len(parts) else 0
            self.socket.sendall(_frame(_DATA, flags, self._stream, part))

    def headers_without_end(self, size: int) -> None:
        """Open a stream with headers of about so many bytes, and more of them to follow."""
        self._stream += 2
        part = _literal(b"k", b"v" * 16_000)
        for number in range(size // len(part)):
            self.socket.sendall(
                _frame(_CONTINUATION if number else _HEADERS, 0, self._stream, part)
            )

    def answer(self, stream: int, timeout_s: float = 60.0, *, most: int = 2) -> bytes:
        """Return the headers of a stream's answer and end, as they are on the wire.

        most: after how many of them to stop, for answers that may continue.
        """
        self.socket.settimeout(timeout_s)
        held = b""
        while True:
            while len(self._buffer) >= 9 + int.from_bytes(self._buffer[:3]):
                length = int.from_bytes(self._buffer[:3])
                kind, flags = self._buffer[3], self._buffer[4]
                of = int.from_bytes(self._buffer[5:9])
                body, self._buffer = self._buffer[9 : 9 + length], self._buffer[9 + length :]
                if of == stream and kind == _HEADERS:
                    held += body
                    most -= 1
                    if flags & _END_STREAM or not most:
                        return held
            data = self.socket.recv(65_536)
            if not data:
                raise ConnectionResetError("closed by the server")
            self._buffer += data

    def closed(self, timeout_s: float) -> bool:
        """Return whether the server closes the connection within a time."""
        self.socket.settimeout(timeout_s)
        try:
            while self.socket.recv(65_536):
                pass
        except TimeoutError:
            return False
        except ConnectionResetError:
            pass
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        struct.pack(">I", len(payload))[1:]
        + bytes([kind, flags])
        + struct.pack(">I", stream)
        + payload
    )


def _literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + _length(len(name)) + name + _length(len(value)) + value


def _length(number: int) -> bytes:
    """Return a string's length in the seven-bit prefix of HPACK, without Huffman's code."""
    if number < 127:
        return bytes([number])
    rest, encoded = number - 127, bytearray([127])
    while rest >= 128:
        encoded.append(rest % 128 + 128)
        rest //= 128
    return bytes([*encoded, rest])
