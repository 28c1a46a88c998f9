"""Which names of a client certificate carry the rights of operators, and how names are logged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import Process
from tests.security.certificates import HAVE_OPENSSL, Authority
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not HAVE_OPENSSL, reason="openssl is not installed here")

OPERATORS = "alice, 10.9.8.7, alice@example.test, spiffe://example.test/alice"
FORGED = "bob\nSetWorkers by operator: OK\x1b[31m ipv4:10.0.0.1:5"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def process(redis_url: str, authority: Authority) -> Iterator[Process]:
    certificate, key = authority.issue("server")
    made = Process(
        redis_url,
        "names",
        log_format="json",
        grpc_tls_cert=certificate,
        grpc_tls_key=key,
        grpc_tls_client_ca=authority.ca,
        grpc_operators=OPERATORS,
    )
    try:
        yield made
    finally:
        made.kill()


def acts(
    process: Process, authority: Authority, pair: tuple[Path, Path], method: str = "ClearWorkers"
) -> tuple[str, str]:
    """Return code and sentence with which a call of operators ends."""
    with connect(
        process.grpc, None, authority.ca, tls_cert=pair[0], tls_key=pair[1], deadline_s=30
    ) as client:
        try:
            getattr(client, method)(getattr(api, f"{method}Request")(partition=0))
        except grpc.RpcError as error:
            return error.code().name, error.details() or ""
    return "OK", ""


@pytest.mark.parametrize(
    ("name", "others", "code"),
    [
        ("alice", "DNS:other.test", "OK"),
        ("dns", "DNS:other.test,DNS:alice", "OK"),
        ("uri", "URI:alice", "PERMISSION_DENIED"),
        ("spiffe", "URI:spiffe://example.test/alice", "PERMISSION_DENIED"),
        ("email", "email:alice@example.test", "PERMISSION_DENIED"),
        ("address", "IP:10.9.8.7", "PERMISSION_DENIED"),
        ("alice ", "DNS:other.test", "PERMISSION_DENIED"),
        ("ALICE", "DNS:*.alice", "PERMISSION_DENIED"),
    ],
)
def test_only_the_common_name_and_dns_names_make_an_operator(
    process: Process, authority: Authority, name: str, others: str, code: str
) -> None:
    assert acts(process, authority, authority.issue(name, others))[0] == code


def test_a_name_that_forges_a_line_is_one_escaped_word_of_it(
    process: Process, authority: Authority
) -> None:
    # Another method than above, whose refusals may have had all their lines of this minute.
    code, said = acts(process, authority, authority.issue(FORGED, "URI:alice"), "SetWorkers")

    assert code == "PERMISSION_DENIED"
    assert said.isprintable()
    wait_until(lambda: any("bob" in line for line in process.log))
    (line,) = [json.loads(line) for line in process.log if "bob" in line]
    words = line["actor"].split()
    assert words[0] == "bob\\nSetWorkers\\x20by\\x20operator:\\x20OK\\x1b[31m\\x20ipv4:10.0.0.1:5"
    assert words[1] == "uri=alice"
    assert words[2].startswith("ipv4:127.0.0.1:")
    assert line["role"] == "viewer"
