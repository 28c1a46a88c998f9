"""What KEDA hears: consumers wanted are partitions with work, and standbys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from queuepool import QueuePool
from queuepool.rpc.keda import externalscaler_pb2 as api
from queuepool.rpc.keda.externalscaler_pb2_grpc import ExternalScalerStub
from tests.integration.coordinator.cluster import Process
from tests.integration.coordinator.conftest import StartProcess
from tests.waiting import wait_until

Code = grpc.StatusCode
VIEWER, OPERATOR = "a-viewers-token", "an-operators-token"


@pytest.fixture
def scaler(process: StartProcess) -> Iterator[Any]:
    """KEDA's view of a coordinator with tokens."""
    running = process(keda="true", grpc_token=OPERATOR, grpc_viewer_token=VIEWER)
    with grpc.insecure_channel(running.grpc) as channel:
        yield ExternalScalerStub(channel)


def about(**metadata: str) -> api.ScaledObjectRef:
    shown = {"scalerAddress": "x:1", "tokenFromEnv": VIEWER} | metadata
    return api.ScaledObjectRef(name="consumer", namespace="default", scalerMetadata=shown)


def wanted(scaler: Any, **metadata: str) -> int:
    request = api.GetMetricsRequest(scaledObjectRef=about(**metadata), metricName="any")
    [value] = scaler.GetMetrics(request, timeout=60).metricValues
    assert value.metricValueFloat == value.metricValue
    return int(value.metricValue)


def code_of(call: Any, request: Any) -> Code:
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=60)
    found: Any = caught.value
    return Code(found.code())


def until_observed(scaler: Any) -> None:
    def answers() -> bool:
        try:
            return wanted(scaler) >= 0
        except grpc.RpcError as error:
            if error.code() is not Code.UNAVAILABLE:
                raise
            return False

    wait_until(answers)


def test_each_partition_with_work_wants_a_consumer(scaler: Any, pool: QueuePool) -> None:
    until_observed(scaler)
    assert wanted(scaler) == 1  # the standby
    assert wanted(scaler, standbys="0") == 0
    assert not scaler.IsActive(about(standbys="0")).result
    assert scaler.IsActive(about()).result

    keys = {pool.group(f"k{n}").partition.number: f"k{n}" for n in range(20)}
    pool.enqueue("t", {}, partition_key=keys[0])
    wait_until(lambda: wanted(scaler, standbys="0") == 1)
    pool.enqueue("t", {}, partition_key=keys[1])
    pool.enqueue("t", {}, partition_key=keys[1], delay_s=3600)
    wait_until(lambda: wanted(scaler, standbys="2") == 4)
    assert scaler.IsActive(about(standbys="0")).result

    pool.hold(partition=0)
    wait_until(lambda: wanted(scaler, standbys="0") == 1)


def test_one_consumer_carries_one_of_the_metric(scaler: Any) -> None:
    [spec] = scaler.GetMetricSpec(about()).metricSpecs

    assert (spec.metricName, spec.targetSize, spec.targetSizeFloat) == ("queuepool-consumers", 1, 1)


def test_a_stream_tells_changes(scaler: Any, pool: QueuePool) -> None:
    until_observed(scaler)
    stream = scaler.StreamIsActive(about(standbys="0"), timeout=60)
    assert not next(stream).result

    pool.enqueue("t", {}, partition_key="k")
    assert next(stream).result
    stream.cancel()


@pytest.mark.parametrize("given", ["", "another", f"{VIEWER} ", "\u00e9", f"Bearer {VIEWER}"])
def test_without_a_token_of_ours_nothing_is_told(scaler: Any, given: str) -> None:
    about_it = about(tokenFromEnv=given)

    assert code_of(scaler.IsActive, about_it) is Code.UNAUTHENTICATED
    assert code_of(scaler.GetMetricSpec, about_it) is Code.UNAUTHENTICATED
    metrics = api.GetMetricsRequest(scaledObjectRef=about_it)
    assert code_of(scaler.GetMetrics, metrics) is Code.UNAUTHENTICATED
    assert code_of(lambda *a, **k: next(scaler.StreamIsActive(*a, **k)), about_it) is (
        Code.UNAUTHENTICATED
    )


@pytest.mark.parametrize("standbys", ["-1", "many", "1.5", "4097", ""])
def test_standbys_that_make_no_sense_are_refused(scaler: Any, standbys: str) -> None:
    until_observed(scaler)
    assert code_of(scaler.IsActive, about(standbys=standbys)) is Code.INVALID_ARGUMENT
    assert code_of(scaler.IsActive, about(standbys="9" * 5000)) is Code.INVALID_ARGUMENT


def test_a_request_too_large_is_refused(scaler: Any) -> None:
    assert code_of(scaler.IsActive, about(more="x" * 20_000)) is Code.INVALID_ARGUMENT


def test_it_is_off_unless_asked_for(running: Process) -> None:
    with grpc.insecure_channel(running.grpc) as channel:
        stub: Any = ExternalScalerStub(channel)
        assert code_of(stub.IsActive, about()) is Code.UNIMPLEMENTED
