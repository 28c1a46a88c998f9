"""What is fuzzed. Each function takes any bytes and raises only when there is a defect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

import msgspec

from consumer.core import commands
from consumer.core.restore import restored_workers
from consumer.settings import ConsumerSettings
from consumer.workers.dispatcher import task_of
from consumer.workers.processes.frames import BrokenFrameError, Ended, PoolReader, Progress, Ready
from coordinator.core import checkpoint
from coordinator.core.model import Observation, PartitionView
from coordinator.core.overlays.values import parse
from coordinator.core.replay.recording import BadRecordingError
from coordinator.core.replay.replaying import replayed
from coordinator.settings import CoordinatorSettings
from coordinator.settings import load as load_coordinator
from queuepool.client.limits import page_of_limits
from queuepool.errors import (
    ConfigurationError,
    InvalidInputError,
    QueuePoolError,
    UndecodableError,
)
from queuepool.models import Limit, PartitionState
from queuepool.protocol import codec
from queuepool.routing.topology import single
from queuepool.rpc.limits import message_of, status_of
from queuepool.settings.config import PoolConfig
from queuepool.settings.environment import QueuePoolSettings, load
from queuepool.telemetry.http.messages import MAX_HEAD_BYTES, Reply, Request, encode, read_head
from queuepool.testing.data import lane_of
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.limits import verbs as homes
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import route
from queuepool.verbs.producer import verbs as produce
from tests.fuzz.api import handle
from tests.fuzz.environment import PASSWORD, only
from tests.fuzz.supply import Supply

Target = Callable[[bytes], None]
_LIFE = own.Ownership(0, "nonce", 7)
_OPTIONS = codec.NO_OPTIONS
_POOL = PoolConfig(topology=single("redis://127.0.0.1:1/0", 4))
_ABOUT_OWNER = 14  # what an observation tells of one
_COMMAND = (b"type", b"partition", b"targetWorkers", b"reason", b"expires")
_CHECKPOINT = (b"target", b"at", b"epoch")
_WITH_URLS = ("QUEUEPOOL_URL", "QUEUEPOOL_SERVERS")
_COUNTERS = (b"r0", b"r1", b"r3", b"bytes", b"done", b"enqueued", b"died", b"retried", b"other")


def _body(data: bytes) -> None:
    """Bytes in the place of a job's body."""
    codec.read_group(data)
    codec.read_stamp(data)
    codec.read_enqueued_ms(data)
    assert lane_of(data)[0] in range(4)
    for read in (codec.read_header, codec.decode_envelope):
        try:
            read(data)
        except UndecodableError as error:
            assert len(str(error)) < 500  # noqa: PT017 - it is the length that is promised


def _stored(data: bytes) -> None:
    """Bytes in the place of an error or a result."""
    record = codec.decode_error(data)
    again = codec.decode_error(codec.encode_error(record))
    assert len(again.message) <= 1024
    try:
        codec.decode_result(data)
    except UndecodableError:
        return
    codec.encode_result(None)


def _payload(data: bytes) -> None:
    """Any JSON that a producer may pass comes back as it was, or is refused."""
    try:
        payload = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    try:
        envelope = codec.encode_envelope("work", payload, _OPTIONS, limit=65_536)
        result = codec.encode_result(payload)
    except QueuePoolError:
        return
    body = b"1" + b"2" + b"019a3b2c4d5" + codec.encode_tail(0x7A1, b"g") + envelope
    assert codec.decode_envelope(body).payload == payload
    assert codec.decode_result(result) == payload


def _read(read: Callable[[], object]) -> object:
    """Return what a reply means; None when it is refused as one of ours."""
    try:
        return read()
    except QueuePoolError:
        return None


def _jobs(supply: Supply) -> None:
    """Replies that tell of jobs."""
    entry = [
        supply.raw(), supply.number(), supply.raw(), supply.number(), supply.number(), supply.raw()
    ]  # fmt: skip
    _read(lambda: operate.dead(0, 0, 1).read([entry]))
    state = supply.one_of([b"ready", b"dead", b"done", b"unknown", supply.raw()])
    reply = [
        state, supply.raw(), supply.number(), supply.number(), supply.number(), supply.raw(),
        supply.raw(), supply.raw(), supply.number(),
    ]  # fmt: skip
    _read(lambda: produce.status("id", 0).read(reply))


def codecs(data: bytes) -> None:
    """Bodies, errors, results and payloads, and the replies that carry them."""
    supply = Supply(data)
    kind = supply.below(4)
    if kind == 3:
        _jobs(supply)
    else:
        (_body, _stored, _payload)[kind](supply.rest())


def command(data: bytes) -> None:
    """Commands as an owner hears them, and what it makes of them."""
    supply = Supply(data)
    heard = [
        [b"%d-%d" % (abs(supply.number()), supply.below(9)), supply.pairs(_COMMAND)]
        for _ in range(supply.below(4))
    ]
    reply = [1, supply.number(), 0, supply.number(), supply.number(), heard, [supply.raw()]]
    renewal = own.renew(_LIFE, lease_ms=1, beat=1, workers=1, busy=0, target=1, applied="0-0").read(
        reply
    )
    resolution = commands.resolve(
        renewal.commands, partition=0, now_ms=supply.number(), min_workers=1, max_workers=64,
        applied="0-0",
    )  # fmt: skip
    assert resolution.target is None or 1 <= resolution.target <= 64
    for refused in resolution.refused:
        assert refused.why
    manual = [supply.digits(), b"%b:%b" % (supply.digits(), supply.digits())]
    leader = [supply.below(2), supply.digits(), supply.number(), supply.number(), supply.raw()]
    _read(lambda: lead.lead("n", lease_ms=1, address="").read([*leader, manual]))
    _read(lambda: route.look(b"").read(supply.pairs((b"version", b"partitions", b"layout"))))


def _of_owner(supply: Supply) -> bytes | None:
    return supply.one_of((supply.raw(), supply.digits(), None))


def _observed(supply: Supply) -> PartitionState | None:
    reply = [
        supply.number(), supply.pairs(_COUNTERS),
        [_of_owner(supply) for _ in range(_ABOUT_OWNER)],
        supply.number(), supply.number(), supply.number(), supply.number(),
        [supply.number() for _ in range(4)], supply.number(), supply.number(), supply.number(),
        supply.pairs(_CHECKPOINT), supply.raw(), supply.number(), [supply.raw()],
        supply.number(), supply.number(), [supply.raw(), supply.digits()],
    ]  # fmt: skip
    state = _read(lambda: operate.observe(0).read(reply))
    assert state is None or isinstance(state, PartitionState)
    return state


def checkpoints(data: bytes) -> None:
    """Checkpoints as a consumer and a coordinator find them: a count within the bounds."""
    supply = Supply(data)
    reply = [1, 7, supply.number(), 0, supply.digits(), supply.digits(), supply.raw()]
    acquired = own.acquire(0, "nonce", lease_ms=1, host="h").read(reply)
    assert isinstance(acquired, own.Acquired)
    age_s = (acquired.now_ms - (acquired.checkpoint_ms or 0)) / 1000
    for tau_s in (600.0, 1e-9, 1e9):
        count = restored_workers(
            acquired.checkpoint, age_s, min_workers=4, max_workers=32, tau_s=tau_s
        )
        assert 4 <= count <= 32
    state = _observed(supply)
    seen = Observation(partition=0, at_s=0.0, state=state)
    for partition, _ in checkpoint.due([seen], set(), {0}, interval_s=1.0):
        assert partition == 0


def settings(data: bytes) -> None:
    """Variables of the environment: settings, or an error that names what is wrong."""
    with only(Supply(data)) as (kind, variables):
        try:
            _READERS[kind]()
        except ConfigurationError as error:
            _shows_no_secret(str(error), variables)


def _shows_no_secret(text: str, variables: Mapping[str, str]) -> None:
    assert text
    for name, value in variables.items():
        secret = value if "TOKEN" in name else PASSWORD
        hidden = name in _WITH_URLS or "TOKEN" in name
        elsewhere = any(secret in other for n, other in variables.items() if n != name)
        if hidden and not elsewhere and len(secret) >= len(PASSWORD) and secret in value:
            assert secret not in text, (name, text)


def _coordinator() -> CoordinatorSettings:
    made = load_coordinator({})
    made.limits()
    made.access()
    return made


_READERS: Mapping[type, Callable[[], object]] = {
    QueuePoolSettings: lambda: load(QueuePoolSettings).pool_config(),
    ConsumerSettings: lambda: load(ConsumerSettings),
    CoordinatorSettings: _coordinator,
}


def grpc(data: bytes) -> None:
    """Requests of the operators' API over records of any kind: an answer or the right code."""
    supply = Supply(data)
    view = PartitionView(
        partition=0, server="memory", state=_observed(supply) if supply.below(2) else None,
        seen_s=None, problem="", finished_per_s=0.0, target=supply.number(), manual_until_ms=None,
    )  # fmt: skip
    records = [supply.raw() for _ in range(supply.below(3))]
    handle(supply.below(8), view, records, supply.rest())


def child_processes(data: bytes) -> None:
    """Bytes from a child of a process pool, and in the place of a body whose pool is looked up."""
    task_of(data)
    try:
        for message in PoolReader().read(data):
            assert isinstance(message, Ready | Progress | Ended)
    except BrokenFrameError as error:
        assert len(str(error)) < 500  # noqa: PT017 - it is the length that is promised


def http(data: bytes) -> None:
    """What a client may send to /metrics and /healthz, byte by byte and at once."""
    asked = read_head(data)
    if isinstance(asked, Request):
        assert asked.path.isascii()
        asked = Reply(status=200, body=b"ok")
    if isinstance(asked, Reply):
        assert encode(asked, date="D")[0].endswith(b"\r\n\r\n")
    elif asked is None:
        assert len(data) <= MAX_HEAD_BYTES
    # Whatever is known of a request from its first bytes does not change with the next ones.
    for end in range(0, min(len(data), 300), 7):
        early = read_head(data[:end])
        assert early is None or early == read_head(data), end


def limits(data: bytes) -> None:
    """Limits as their homes answer, and tokens of pages as callers send them."""
    supply = Supply(data)
    name, text = supply.raw(), b":".join(supply.digits() for _ in range(6))
    record = [
        name, supply.one_of([text, supply.raw()]), supply.raw(), supply.digits(), supply.raw(),
        *(supply.number() for _ in range(8)),
    ]  # fmt: skip
    page = _read(lambda: homes.limits().read([supply.raw(), supply.number(), [record]]))
    assert isinstance(page, tuple)
    for status in page[1]:
        assert status_of(message_of(status)).name == status.name
        if status.set is not None:
            assert Limit.from_definition(status.name, status.set.definition) is not None
    number, granted = supply.number(), [supply.number() for _ in range(3)]
    reply = [number, *granted[:2], supply.raw(), *granted[1:], 0]
    _read(lambda: homes.ask(_LIFE, "mail", tokens=1, held=0, wanted=1).read(reply))
    with contextlib.suppress(InvalidInputError):
        next(page_of_limits(_POOL, supply.rest().decode("latin-1"), 10), None)


def recordings(data: bytes) -> None:
    """A file of `queuepool record`, and what operators set as a shadow."""
    with contextlib.suppress(BadRecordingError):
        for one in replayed(data.splitlines(keepends=True)):
            assert one.cycle.plan is not None
    with contextlib.suppress(InvalidInputError):
        parse({"shadow": data.decode("latin-1")})


TARGETS: Mapping[str, Target] = {
    "codec": codecs,
    "commands": command,
    "checkpoints": checkpoints,
    "settings": settings,
    "grpc": grpc,
    "http": http,
    "child_processes": child_processes,
    "limits": limits,
    "recordings": recordings,
}
