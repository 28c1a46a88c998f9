"""`queuepool record`, `replay` and `shadow` with real coordinators."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from coordinator.core.replay.cycle import Cycle
from coordinator.core.replay.replaying import replayed
from coordinator.core.replay.shadow import Shadow
from queuepool.cli.commands import record
from queuepool.cli.exits import Exit
from queuepool.cli.inspection import recordings
from queuepool.client.pool import QueuePool
from queuepool.client.scaling import ScalingRecords
from queuepool.rpc import listening
from queuepool.rpc.client import QueuePoolClient, connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import BRIEF, FakeOwner, Process, obey_until
from tests.integration.coordinator.conftest import StartCoordinator, StartProcess
from tests.shell import Shell
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")


@pytest.fixture
def held(pool: QueuePool) -> FakeOwner:
    return FakeOwner(pool.partition(0))


@pytest.fixture
def running(process: StartProcess, held: FakeOwner) -> Process:
    started = process(policy="sized")
    wait_until(lambda: any("leading" in line for line in started.log))
    return started


@pytest.fixture
def client(running: Process) -> Iterator[QueuePoolClient]:
    with connect(running.grpc, deadline_s=30) as made:
        yield made


@pytest.fixture
def run(capsys: Any, running: Process, redis_url: str, stage: str) -> Callable[..., str]:
    shell = Shell(capsys)
    settings = {
        "QUEUEPOOL_URL": redis_url,
        "QUEUEPOOL_STAGE": stage,
        "QUEUEPOOL_PARTITIONS": "2",
        "QUEUEPOOL_GRPC": running.grpc,
    }

    def do(*words: str, code: int = Exit.OK, **other: str) -> str:
        found, out, err = shell.run_with(*words, **settings | other)
        assert found == code, out + err
        return out + err

    return do


class Over:
    """The time of a recording, which ends when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ends: list[Callable[[], None]] = []
        monkeypatch.setattr(
            record, "threading", SimpleNamespace(Event=threading.Event, Timer=self._timer)
        )

    def _timer(self, _seconds: float, end: Callable[[], None]) -> Any:
        self._ends.append(end)
        return SimpleNamespace(start=lambda: None, cancel=lambda: None)

    def now(self) -> None:
        wait_until(lambda: self._ends, message="a recording")
        self._ends[-1]()


def load(pool: QueuePool, count: int) -> None:
    pool.enqueue_many("nothing", [{}] * count, partition_key=key_of(pool, 0))


def key_of(pool: QueuePool, partition: int) -> str:
    keys = (f"k{n}" for n in range(1000))
    return next(key for key in keys if pool.producer.route(key).partition == partition)


def test_what_a_live_coordinator_decided_is_decided_again_bit_by_bit(
    run: Any,
    pool: QueuePool,
    held: FakeOwner,
    client: QueuePoolClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a bulk, a change of the scaling record, and an operator's count, while it records."""
    file, over = tmp_path / "one.rec", Over(monkeypatch)
    seen: list[int] = []

    def changes() -> None:
        load(pool, 400)
        obey_until(held, lambda: held.workers > 16)
        client.SetPolicy(api.SetPolicyRequest(changes={"max_workers": "24", "drain_s": "1"}))
        obey_until(held, lambda: held.workers == 24)
        client.SetWorkers(api.SetWorkersRequest(partition=0, workers=11, ttl_s=60))
        obey_until(held, lambda: held.workers == 11)
        noted = file.read_bytes().count(b"\n")
        wait_until(lambda: file.read_bytes().count(b"\n") > max(30, noted + 2))
        seen.append(1)

    def live() -> None:
        wait_until(file.exists)
        try:
            changes()
        finally:
            over.now()

    thread = threading.Thread(target=live)
    thread.start()
    said = run("record", str(file))
    thread.join(20)

    assert seen
    assert "the time is over" in said
    found = list(replayed(file.read_bytes().splitlines(keepends=True)))
    targets = {d.target for one in found if one.cycle.plan for d in one.cycle.plan.decisions}
    assert {24, 11} <= targets
    assert len(found) > 20
    assert all(one.recorded and one.difference is None for one in found)
    text = run("replay", str(file), "--changes")
    assert "decisions were reproduced exactly" in text
    assert "-> 24" in text


def test_another_policy_is_compared_and_a_changed_file_is_noticed(
    run: Any, pool: QueuePool, held: FakeOwner, tmp_path: Path
) -> None:
    file = tmp_path / "one.rec"
    load(pool, 400)
    run("record", str(file), "--size", "6kB")

    text = run("replay", str(file), "--policy", "static", "--set", "workers=20")
    found = json.loads(run("replay", str(file), "--policy", "pwqd", "--json"))

    assert "static would have cost" in text
    assert found["shadow"]["policy"] == "pwqd"
    assert found["different"] == 0
    assert "there is no scaling policy" in run(
        "replay", str(file), "--policy", "gone", code=Exit.USAGE
    )
    assert "exists already" in run("record", str(file), code=Exit.USAGE)
    lines = file.read_bytes().splitlines(keepends=True)
    broken = [line.replace(b"[0,0,400,0]", b"[0,0,0,0]") for line in lines]
    assert broken != lines
    file.write_bytes(b"".join(broken))
    assert "cycles differ" in run("replay", str(file), code=Exit.FAILED)


def test_a_policy_that_decided_only_at_the_beginning_is_compared(
    run: Any, client: QueuePoolClient, held: FakeOwner, tmp_path: Path
) -> None:
    first, second = tmp_path / "one.rec", tmp_path / "two.rec"
    run("record", str(first), "--size", "4kB")
    client.SetPolicy(api.SetPolicyRequest(changes={"policy": "static"}))
    obey_until(
        held,
        lambda: client.GetPolicy(api.GetPolicyRequest()).in_force.policy == "static",
    )
    run("record", str(second), "--size", "4kB")
    first.write_bytes(first.read_bytes() + second.read_bytes())

    assert "sized would have cost" in run("replay", str(first), "--policy", "sized")
    assert "nothing to compare" in run("replay", str(second), "--policy", "static")


def test_a_full_file_ends_the_recording_and_says_so(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "one.rec"

    text = run("record", str(file), "--size", "4kB")

    assert "the file is full (4,000 bytes, --size)" in text
    assert file.stat().st_size <= 4_000
    assert file.read_bytes().splitlines()[-1].startswith(b'["end","the file is full')
    assert "reproduced exactly" in run("replay", str(file))


def test_without_a_coordinator_the_servers_are_observed(
    run: Any, running: Process, tmp_path: Path
) -> None:
    file = tmp_path / "one.rec"
    running.stop()

    directly = {"QUEUEPOOL_GRPC": "127.0.0.1:1"}
    run("record", str(file), "--size", "3kB", "--cycle", "100ms", **directly)

    found = list(replayed(file.read_bytes().splitlines(keepends=True)))
    assert len(found) >= 3
    assert not any(one.recorded for one in found)
    assert found[-1].cycle.observations[0].state is not None
    assert "no coordinator was leading" in run("replay", str(file))
    other = str(tmp_path / "two.rec")
    assert "the time is over" in run("record", other, "--for", "100ms", **directly)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_recording_goes_on_with_the_next_leader_and_is_decided_again_bit_by_bit(
    capsys: Any,
    process: StartProcess,
    pool: QueuePool,
    redis_url: str,
    stage: str,
    held: FakeOwner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: signal.Signals,
) -> None:
    file, over = tmp_path / "one.rec", Over(monkeypatch)
    monkeypatch.setattr(listening, "SILENT_S", 2.0)
    leader = process(policy="sized", **BRIEF)
    wait_until(lambda: any("leading" in line for line in leader.log))
    standby = process(policy="sized", **BRIEF)
    settings = {"QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "2"}
    load(pool, 400)
    failures: list[BaseException] = []

    def cycles() -> int:
        return file.read_bytes().count(b'["cycle"') if file.exists() else 0

    def lose_the_leader() -> None:
        try:
            obey_until(held, lambda: cycles() > 5 and held.workers > 8)
            leader.popen.send_signal(end)
            wait_until(lambda: any("leading" in line for line in standby.log), 60)
            before = cycles()
            obey_until(held, lambda: cycles() > before + 5, 60)
        except BaseException as error:
            failures.append(error)
        finally:
            over.now()

    thread = threading.Thread(target=lose_the_leader)
    thread.start()
    code, out, err = Shell(capsys).run_with("record", str(file), "--grpc", leader.grpc, **settings)
    thread.join(60)
    leader.popen.send_signal(signal.SIGCONT)

    assert (code, failures) == (Exit.OK, []), out + err
    found = list(replayed(file.read_bytes().splitlines(keepends=True)))
    assert len({one.cycle.epoch for one in found}) == 2
    assert all(one.recorded and one.difference is None for one in found)


def test_without_any_leader_a_recording_ends_as_unavailable(
    run: Any, running: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "one.rec"
    monkeypatch.setattr(recordings, "LEADERLESS_S", 0.5)

    def stop() -> None:
        wait_until(lambda: file.exists() and b'["cycle"' in file.read_bytes())
        running.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    said = run("record", str(file), code=Exit.UNAVAILABLE)
    thread.join(30)

    assert "no leader has responded" in said
    assert b"no leader has responded" in file.read_bytes().splitlines()[-1]


def test_a_refused_recording_leaves_no_file(
    run: Any, process: StartProcess, running: Process, tmp_path: Path
) -> None:
    standby, file = process(policy="sized"), tmp_path / "one.rec"
    wait_until(lambda: any("standing by" in line for line in standby.log))

    said = run("record", str(file), "--grpc", standby.grpc, code=Exit.FAILED)

    assert f"ask the leader, {running.grpc}" in said
    assert not file.exists()


def test_only_the_leader_records(process: StartProcess, running: Process) -> None:
    standby = process(policy="sized")
    with connect(standby.grpc, deadline_s=30) as client:
        wait_until(lambda: any("standing by" in line for line in standby.log))
        with pytest.raises(grpc.RpcError) as refused:
            next(client.Record(api.RecordRequest(), timeout=60))

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert f"ask the leader, {running.grpc}" in (refused.value.details() or "")


def test_a_shadow_runs_beside_the_policy_and_moves_nothing(
    run: Any, running: Process, held: FakeOwner, client: QueuePoolClient
) -> None:
    text = run("shadow", "static", "--set", "workers=30", "--for", "1h", "--reason", "try it")
    assert "static workers=30 until=" in text

    def shadow() -> Any:
        return client.GetCluster(api.GetClusterRequest()).cluster.shadow

    obey_until(held, lambda: shadow().candidate_side.worker_s > 60)
    found = shadow()
    assert found.live_side.worker_s == pytest.approx(
        8 / 30 * found.candidate_side.worker_s, rel=0.2
    )
    assert held.scales() == []
    assert (found.policy, found.problem) == ("static", "")
    assert "static would have cost" in run("shadow")
    assert "shadow static: " in run("status")
    run("shadow", "--stop")
    wait_until(lambda: any("has ended" in line for line in running.log))
    assert json.loads(run("shadow", "--json"))["shadow"]["live"]["worker_s"] > 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gone",), "use aimd"),
        (("sized", "--set", "nothing=1"), "is not a setting of a policy"),
        (("static", "--set", "drain_s=1"), "has no setting drain_s"),
        (("sized", "--set", "drain_s=0"), "drain_s"),
        (("sized", "--set", "drain_s"), "write NAME=VALUE"),
        (("sized", "--for", "9d"), "at most 7 days"),
        (("sized", "--stop"), "or --stop"),
    ],
)
def test_a_shadow_that_cannot_run_is_refused(
    capsys: Any, pool: QueuePool, redis_url: str, stage: str, words: tuple[str, ...], said: str
) -> None:
    settings = {"URL": redis_url, "STAGE": stage, "PARTITIONS": "2"}
    variables = {f"QUEUEPOOL_{name}": value for name, value in settings.items()}

    code, out, err = Shell(capsys).run_with("shadow", *words, **variables)

    assert (code, said in out + err) == (Exit.USAGE, True), out + err
    assert ScalingRecords(*pool.system).read().values == {}


def test_a_candidate_that_fails_ends_alone(
    coordinate: StartCoordinator,
    pool: QueuePool,
    held: FakeOwner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Shadow, cycle: Cycle) -> Any:
        raise ZeroDivisionError("of the candidate")

    monkeypatch.setattr(Shadow, "see", broken)
    made = coordinate(policy="static", workers=20)
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    ScalingRecords(*pool.system).change(
        {"shadow": f"pwqd until={until}"}, lambda old, new: {**old, **new}, by="test"
    )
    made.start()

    obey_until(held, lambda: held.workers == 20)
    wait_until(lambda: made.shadows.latest is not None and made.shadows.latest.problem)

    assert made.shadows.latest is not None
    assert made.shadows.latest.problem == "ZeroDivisionError: of the candidate"
    assert made.store.snapshot.leading
