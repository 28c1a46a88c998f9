"""The API behind TLS, and with client certificates."""

import shutil
import subprocess
from pathlib import Path

import grpc
import pytest

from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.queue_pool_pb2_grpc import QueuePoolStub
from tests.integration.coordinator.conftest import StartProcess
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.xdist_group("coordinator-process"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed here"),
]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority (ca.pem) with a server's and an operator's certificate and key."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca"
    )
    for name in ("server", "operator"):
        (folder / "san").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost")
        openssl(
            "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"
        )
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", "san", "-out", f"{name}.pem",
        )  # fmt: skip
    return folder


def test_over_tls_a_token_travels_unseen_and_a_plain_call_gets_nothing(
    process: StartProcess, certificates: Path
) -> None:
    running = process(
        grpc_tls_cert=certificates / "server.pem",
        grpc_tls_key=certificates / "server.key",
        grpc_token="token",
    )

    with connect(running.grpc, "token", certificates / "ca.pem") as client:
        assert _answers(client)
    with connect(running.grpc, "token") as client, pytest.raises(grpc.RpcError) as caught:
        client.GetCluster(api.GetClusterRequest(), timeout=30)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


def test_with_a_client_authority_only_its_certificates_get_an_answer(
    process: StartProcess, certificates: Path
) -> None:
    running = process(
        grpc_tls_cert=certificates / "server.pem",
        grpc_tls_key=certificates / "server.key",
        grpc_tls_client_ca=certificates / "ca.pem",
    )
    authority = (certificates / "ca.pem").read_bytes()
    mine = grpc.ssl_channel_credentials(
        authority,
        (certificates / "operator.key").read_bytes(),
        (certificates / "operator.pem").read_bytes(),
    )

    with grpc.secure_channel(running.grpc, mine) as channel:
        stub = QueuePoolStub(channel)
        assert _answers(stub)
        stub.SetWorkers(api.SetWorkersRequest(partition=0, workers=9, ttl_s=1), timeout=30)
    without = grpc.ssl_channel_credentials(authority)
    with grpc.secure_channel(running.grpc, without) as channel, pytest.raises(grpc.RpcError):
        QueuePoolStub(channel).GetCluster(api.GetClusterRequest(), timeout=30)

    wait_until(lambda: any("set manually" in line for line in running.log))
    assert any("actor=" in line and "localhost" in line for line in running.log)


def _answers(stub: QueuePoolStub) -> bool:
    def asked() -> object:
        try:
            return stub.GetCluster(api.GetClusterRequest(), timeout=30).cluster.partition_count
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return None

    wait_until(asked)
    return True
