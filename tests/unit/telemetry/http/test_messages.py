"""What a request asks for, and what is answered to anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool.telemetry.http.messages import MAX_HEAD_BYTES, Reply, Request, encode, read_head


def head(line: str, header: str = "Host: x\r\n") -> bytes:
    return f"{line}\r\n{header}\r\n".encode()


@pytest.mark.parametrize(
    ("received", "path", "wants_body"),
    [
        (head("GET /metrics HTTP/1.1"), "/metrics", True),
        (head("HEAD /healthz HTTP/1.0"), "/healthz", False),
        (head("GET /metrics?name=a#b HTTP/1.1"), "/metrics", True),
        (head("GET http://host:9/metrics?x HTTP/1.1"), "/metrics", True),
        (head("GET http://host:9 HTTP/1.1"), "/", True),
        (head("GET http://host:9?x=/metrics HTTP/1.1"), "/", True),
        (head("GET //host/metrics HTTP/1.1"), "//host/metrics", True),
        (b"\r\n" + head("GET /metrics HTTP/1.1"), "/metrics", True),
        (b"GET /metrics HTTP/1.0\n\n", "/metrics", True),
        (head("GET /metrics HTTP/1.1") + b"GET /other HTTP/1.1\r\n", "/metrics", True),
    ],
)
def test_a_request_is_a_path_and_whether_its_body_is_wanted(
    received: bytes, path: str, wants_body: bool
) -> None:
    assert read_head(received) == Request(path=path, wants_body=wants_body)


@pytest.mark.parametrize(
    ("received", "status"),
    [
        (head("GET /metrics"), 400),
        (head("GET  /metrics HTTP/1.1"), 400),
        (head("get"), 400),
        (head("GET /m\x00 HTTP/1.1"), 400),
        ("GET /m\u00fc HTTP/1.1\r\n\r\n".encode(), 400),
        (b"\x16\x03\x01\x02\x00\n\n", 400),
        (head("GET /metrics HTTP/11.1"), 400),
        (head("PRI * HTTP/2.0", ""), 505),
        (head("POST /metrics HTTP/1.1", "Content-Length: 3\r\n") + b"abc", 405),
        (head("OPTIONS * HTTP/1.1"), 405),
        (head("CONNECT other:443 HTTP/1.1"), 405),
        (b"GET /" + b"a" * MAX_HEAD_BYTES, 431),
        (head("GET / HTTP/1.1", "X: " + "a" * MAX_HEAD_BYTES + "\r\n"), 431),
        (b"\r\n" * MAX_HEAD_BYTES, 431),
    ],
)
def test_what_is_no_request_for_us_is_refused(received: bytes, status: int) -> None:
    reply = read_head(received)

    assert isinstance(reply, Reply)
    assert (reply.status, reply.allow) == (status, "GET, HEAD" if status == 405 else "")


def test_a_header_of_just_the_size_that_fits_is_read() -> None:
    room = MAX_HEAD_BYTES - len(head("GET / HTTP/1.1", "X: \r\n"))
    fits = head("GET / HTTP/1.1", f"X: {'a' * room}\r\n")

    assert len(fits) == MAX_HEAD_BYTES
    assert isinstance(read_head(fits), Request)
    assert read_head(fits[:-1]) is None


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: b"GET /" + b + b"\r\n\r\n"))
def test_any_bytes_are_a_request_a_refusal_or_not_yet_a_request(received: bytes) -> None:
    asked = read_head(received)

    assert asked is None or isinstance(asked, Request | Reply)
    if isinstance(asked, Reply):  # nothing of the request comes back
        assert asked.body == read_head(b"?\n\n" if asked.status == 400 else received).body  # type: ignore[union-attr]


def test_a_reply_says_its_length_and_that_the_connection_ends() -> None:
    parts = encode(Reply(status=200, body=b"ok\n"), date="D")

    assert b"".join(parts) == (
        b"HTTP/1.1 200 OK\r\nDate: D\r\nContent-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: 3\r\nConnection: close\r\n\r\nok\n"
    )
    assert encode(Reply(status=200, body=b"ok\n"), date="D", with_body=False) == parts[:1]
