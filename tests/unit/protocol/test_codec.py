"""The body of a job: what goes in comes out; what is damaged is undecodable, and nothing else."""

from __future__ import annotations

from contextlib import suppress
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool.errors import InvalidInputError, PayloadTooLargeError, UndecodableError
from queuepool.models import ErrorRecord
from queuepool.protocol import codec

LIMIT = 256 * 1024
GROUPS = st.binary(min_size=1, max_size=64) | st.sampled_from(
    [b"\x00", b"{}", b"}{", b"\r\n", b"*", b":", b"\xff\xfe", b"\x00" * 64, "🦆".encode()]
)
TEXT = st.text(st.characters(codec="utf-8"))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)
)
PAYLOADS = st.dictionaries(TEXT, JSON, max_size=4)
OPTIONS = st.builds(
    codec.Options,
    max_attempts=st.none() | st.integers(1, 2**31 - 1),
    timeout_s=st.none() | st.floats(0.001, 604800),
    trace=st.none() | TEXT,
    key=st.none() | TEXT,
)


def body(
    payload: Any = None,
    group: bytes = b"g",
    options: codec.Options = codec.NO_OPTIONS,
    *,
    tier: int = 2,
    slot: int = 7,
    at_ms: int = 1_700_000_000_000,
) -> bytes:
    """Return a body as the enqueue script stores it."""
    envelope = codec.encode_envelope("t", payload or {}, options, limit=LIMIT)
    return b"1%d%011x" % (tier, at_ms) + codec.encode_tail(slot, group) + envelope


@given(
    PAYLOADS, GROUPS, OPTIONS, st.integers(0, 3), st.integers(0, 4095), st.integers(0, 2**44 - 1)
)
def test_a_body_comes_back_as_it_went_in(
    payload: dict[str, Any], group: bytes, options: codec.Options, tier: int, slot: int, at_ms: int
) -> None:
    raw = body(payload, group, options, tier=tier, slot=slot, at_ms=at_ms)

    assert codec.read_header(raw)[:4] == (tier, at_ms, slot, group)
    assert codec.read_group(raw) == group
    assert codec.read_enqueued_ms(raw) == at_ms
    assert codec.decode_envelope(raw) == codec.Envelope("t", payload, options)


@given(PAYLOADS, GROUPS, st.data())
def test_a_truncated_body_is_undecodable(
    payload: dict[str, Any], group: bytes, data: st.DataObject
) -> None:
    raw = body(payload, group)
    cut = raw[: data.draw(st.integers(0, len(raw) - 1))]

    with pytest.raises(UndecodableError):
        codec.decode_envelope(cut)
    codec.read_group(cut)
    codec.read_enqueued_ms(cut)


@given(PAYLOADS, GROUPS, st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1))
def test_a_corrupted_body_is_read_or_undecodable(
    payload: dict[str, Any], group: bytes, changes: list[tuple[int, int]]
) -> None:
    raw = bytearray(body(payload, group))
    for place, byte in changes:
        raw[place % len(raw)] = byte

    for read in (codec.decode_envelope, codec.read_header):
        with suppress(UndecodableError):
            read(bytes(raw))
    codec.read_group(bytes(raw))
    codec.read_enqueued_ms(bytes(raw))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_undecodable(raw: bytes) -> None:
    for prefix in (b"", b"1", b"1219000000000", b"1219000000000" + b"00701g"):
        with suppress(UndecodableError):
            codec.decode_envelope(prefix + raw)


@pytest.mark.parametrize(
    "header",
    [
        b"2200000000001" + b"00701g",  # another layout
        b"1400000000001" + b"00701g",  # no such tier
        b"12-0000000001" + b"00701g",  # int() would read all of these
        b"12 0000000001" + b"00701g",
        b"120_000000001" + b"00701g",
        b"1200000000001" + b"0_701g",
        b"1200000000001" + b"007-1g",
        b"1200000000001" + b"007+1g",
        b"1200000000001" + b"00700",  # no group
        b"1200000000001" + b"00741" + b"g" * 65,
        b"",
    ],
)
def test_a_header_that_nobody_writes_is_undecodable(header: bytes) -> None:
    with pytest.raises(UndecodableError):
        codec.read_header(header + b'["t",{}]')


@pytest.mark.parametrize(
    "envelope",
    [
        b"",
        b"null",
        b"{}",
        b"[]",
        b'["t"]',
        b'["t",[]]',
        b'["t",{}',
        b'["t",{}]x',
        b"[1,{}]",
        b'["t",{"x":"\xff"}]',
        b'["t",{"x":"\\ud800"}]',
        b'["t",{"x":1e999999}]',
        b'["t",{"x":' + b"9" * 6000 + b"}]",
        b'["t",{"x":' + b"[" * 100_000 + b"]}]",
        b'["t",{},{"n":"many"}]',
    ],
)
def test_an_envelope_that_nobody_writes_is_undecodable(envelope: bytes) -> None:
    with pytest.raises(UndecodableError):
        codec.decode_envelope(b"1200000000001" + b"00701g" + envelope)


def test_options_of_a_newer_version_are_passed_over() -> None:
    raw = b"1200000000001" + b"00701g" + b'["t",{"a":1},{"n":3,"new":true},"more"]'

    assert codec.decode_envelope(raw).options == codec.Options(max_attempts=3)


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_the_limit_is_exact(size: int) -> None:
    envelope = b'["t",{"x":"' + b"a" * 50 + b'"}]'

    def encode() -> bytes:
        limit = len(envelope) - size
        return codec.encode_envelope("t", {"x": "a" * 50}, codec.NO_OPTIONS, limit=limit)

    if size <= 0:
        assert encode() == envelope
    else:
        with pytest.raises(PayloadTooLargeError, match="MAX_PAYLOAD_BYTES") as caught:
            encode()
        assert caught.value.size == len(envelope)


def circle() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["me"] = made
    return made


@pytest.mark.parametrize(
    "payload",
    [
        None, 7, "text", b"bytes", [1], [("a", 1)], {1, 2}, object(),
        {"x": object()}, {"x": "\ud800"}, {"\udfff": 1}, {(1, 2): 3}, {"x": 10**5000}, circle(),
        {"x": lambda: 1},
    ],
)  # fmt: skip
def test_a_payload_that_is_no_json_object_is_refused(payload: Any) -> None:
    with pytest.raises(InvalidInputError, match="payload"):
        codec.encode_envelope("t", payload, codec.NO_OPTIONS, limit=LIMIT)


def test_any_mapping_is_a_payload() -> None:
    payload = MappingProxyType({"a": 1})

    assert codec.encode_envelope("t", payload, codec.NO_OPTIONS, limit=99) == b'["t",{"a":1}]'


def test_an_error_of_the_payload_does_not_quote_it() -> None:
    with pytest.raises(InvalidInputError) as caught:
        codec.encode_envelope("t", {"pw": "CANARY", "x": object()}, codec.NO_OPTIONS, limit=LIMIT)

    assert "CANARY" not in str(caught.value)


# -- results and errors -----------------------------------------------------------------------


@given(JSON)
def test_a_result_comes_back(value: Any) -> None:
    assert codec.decode_result(codec.encode_result(value)) == value


@pytest.mark.parametrize("raw", [b"{", b"\xff", b'"\xff"', b"[" * 100_000])
def test_a_damaged_result_is_undecodable(raw: bytes) -> None:
    with pytest.raises(UndecodableError):
        codec.decode_result(raw)


@given(st.text(), st.text(), st.text())
def test_any_text_can_be_stored_as_an_error(kind: str, message: str, traceback: str) -> None:
    # Names of files that are not UTF-8 bring lone surrogates into messages.
    record = ErrorRecord(
        reason="failed", type=kind, message=message + "\udce9", traceback=traceback * 50
    )

    raw = codec.encode_error(record)
    back = codec.decode_error(raw)

    assert back.reason == "failed"
    assert len(back.type) + len(back.message) + len(back.traceback) <= 4096


@given(st.binary(max_size=3000))
def test_a_damaged_error_becomes_its_own_message(raw: bytes) -> None:
    assert codec.decode_error(raw).reason
