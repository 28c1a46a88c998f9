"""Any bytes as a body, a header, a result or an error: a value, or an UndecodableError."""

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queuepool.errors import UndecodableError
from queuepool.protocol import codec
from queuepool.testing.data import lane_of
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.producer import verbs as produce
from tests.bad_inputs.bodies import DAMAGED, SOUND

CUTS = st.tuples(st.integers(0, len(SOUND)), st.binary(max_size=8), st.integers(0, len(SOUND)))
DEEP = b'{"new":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A sound body with a few bytes replaced, cut or doubled, or none of the kind."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=200) | st.sampled_from(list(DAMAGED.values())))
    body = SOUND
    for begin, middle, end in draw(st.lists(CUTS, max_size=3)):
        body = body[:begin] + middle + body[end:]
    return body


def problem(read: Callable[[bytes], object], body: bytes) -> str:
    """Return why a body cannot be read, or nothing."""
    try:
        read(body)
    except UndecodableError as error:
        return str(error)
    return ""


@given(bodies())
@example(SOUND[:23] + b'["work",' + b'{"a":' * 100_000)
@example(SOUND[:23] + b'["work",{"n":' + b"9" * 100_000 + b"}]")
@example(SOUND[:23] + b'["work",{"n":1e999999999}]')
@example(SOUND[:23] + b'["work",{},{"n":-1,"o":"soon"}]')
def test_any_body_is_read_or_undecodable(body: bytes) -> None:
    assert len(problem(codec.read_header, body)) < 500
    assert len(problem(codec.decode_envelope, body)) < 500

    assert 0 <= len(codec.read_group(body)) <= 255
    assert 0 <= codec.read_enqueued_ms(body) < 2**44
    tier, group = lane_of(body)
    assert 0 <= tier <= 3
    assert group == codec.read_group(body)


@given(bodies(), st.binary(max_size=60) | st.just(DEEP), st.binary(max_size=60) | st.just(DEEP))
def test_any_body_error_and_result_can_be_shown(body: bytes, error: bytes, result: bytes) -> None:
    dead = operate.dead(0, 0, 1).read([[b"id", 1, body, 1, 0, error]])
    assert dead[0].body == body

    try:
        status = produce.status("id", 0).read([b"dead", body, 1, 1, 0, error, b"\xff", result, 0])
    except UndecodableError:
        with pytest.raises(UndecodableError):
            codec.decode_result(result)
    else:
        assert status.task is None or isinstance(status.task, str)


@pytest.mark.parametrize(
    "options", [b'{"n":0}', b'{"n":-1}', b'{"n":1.5}', b'{"o":0}', b'{"o":-1}', b'{"o":1e308}']
)
def test_options_that_no_producer_sets_are_undecodable(options: bytes) -> None:
    with pytest.raises(UndecodableError):
        codec.decode_envelope(SOUND[:23] + b'["work",{},' + options + b"]")


def test_a_body_of_ten_megabytes_of_brackets_costs_no_more_than_its_copies() -> None:
    body = SOUND[:23] + b"[" * 10_000_000
    tracemalloc.start()
    try:
        with pytest.raises(UndecodableError):
            codec.decode_envelope(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 30_000_000
