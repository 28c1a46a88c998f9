"""The gRPC server around the status service: address, TLS, guard, limits, health, reflection."""

from __future__ import annotations

from pathlib import Path

import grpc
import grpc.aio
from grpc_reflection.v1alpha import reflection

from coordinator.api import health
from coordinator.api.authorization import Authorization
from coordinator.api.connections import Connections, limit
from coordinator.api.health import Health
from coordinator.api.keda import KedaScaler
from coordinator.api.methods import ended, make_server
from coordinator.api.service import StatusService
from coordinator.settings import CoordinatorSettings
from queuepool.errors import ConfigurationError
from queuepool.errors.hindrances import HindranceError
from queuepool.rpc.v1 import queue_pool_pb2
from queuepool.rpc.v1.queue_pool_pb2_grpc import add_QueuePoolServicer_to_server
from queuepool.telemetry.events import Listener, ignore

SERVICE = queue_pool_pb2.DESCRIPTOR.services_by_name["QueuePool"].full_name
# Authorization and health limit calls, not grpc, whose single limit unknown callers would
# exhaust.
_OPTIONS = (
    ("grpc.max_receive_message_length", 128 * 1024),  # a key of 64 KiB is the largest there is
    ("grpc.max_send_message_length", 16 * 1024 * 1024),
    # Little compressed data can need much memory, even before a token is checked.
    ("grpc.compression_enabled_algorithms_bitset", 1),
    ("grpc.max_metadata_size", 16 * 1024),
    (
        "grpc.absolute_max_metadata_size",
        16 * 1024,
    ),  # otherwise the value is random, up to a quarter more
    ("grpc.max_concurrent_streams", 128),  # of one connection, which a process shares
    ("grpc.server_handshake_timeout_ms", 10_000),  # for TLS and the settings of HTTP/2
    ("grpc.http2.settings_timeout", 10_000),  # ours apply only once a caller has agreed to them
    ("grpc.max_connection_idle_ms", 60_000),  # without a call
    # Then callers reconnect, with a certificate that is still valid.
    ("grpc.max_connection_age_ms", 3_600_000),
    ("grpc.max_connection_age_grace_ms", 3_600_000),  # which is as long as a stream may last
    ("grpc.keepalive_time_ms", 30_000),  # detect callers that are gone
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.max_ping_strikes", 2),  # callers that ping more often are disconnected
    # A flood of calls of one method delays its other callers, instead of failing them.
    ("grpc.server.max_pending_requests", 8_000),
    ("grpc.server.max_pending_requests_hard_limit", 16_000),
    ("grpc.so_reuseport", 0),  # a port in use is an error, instead of sharing its calls
)


class ApiEndedError(HindranceError):
    """The gRPC server ended unexpectedly: a new process has a new one."""

    def __init__(self) -> None:
        super().__init__(
            "the gRPC API stopped unexpectedly; see grpc's own log lines above. This process "
            "resigns and exits, so that its supervisor restarts it; worker counts stay the same."
        )


class StatusServer:
    """A gRPC server on the running event loop."""

    def __init__(self, settings: CoordinatorSettings, emit: Listener = ignore) -> None:
        self._settings = settings
        self._health = Health([SERVICE])
        most = limit()
        self._connections = Connections(most // 4)
        self._guard = Authorization(settings.access(), emit, self._connections)
        self._server = make_server(
            self._guard.refuse,
            interceptors=[self._guard],
            options=(*_OPTIONS, ("grpc.max_allowed_incoming_connections", most)),
        )
        self.address = ""

    def bind(self) -> str:
        """Bind the address; returns host:port. Raises ConfigurationError if it is in use."""
        s = self._settings
        wanted = f"{_bracketed(s.grpc_host)}:{s.grpc_port}"
        try:
            port = (
                self._server.add_insecure_port(wanted)
                if s.grpc_tls_cert is None
                else self._server.add_secure_port(wanted, _credentials(s))
            )
        except RuntimeError as error:
            raise ConfigurationError(
                f"gRPC cannot listen on {wanted} ({error}). If another coordinator runs here, give "
                "this one COORDINATOR_GRPC_PORT=0 (a free port), else check COORDINATOR_GRPC_HOST."
            ) from error
        self.address = f"{_bracketed(s.grpc_host)}:{port}"
        return self.address

    async def start(self, service: StatusService, keda: KedaScaler | None = None) -> None:
        """Start serving; health is NOT_SERVING until `set_serving`."""
        add_QueuePoolServicer_to_server(service, self._server)
        self._health.add_to(self._server)
        if keda is not None:
            keda.add_to(self._server)
        if self._settings.grpc_reflection:
            names = (SERVICE, health.SERVICE, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        await self._server.start()
        self._connections.start(int(self.address.rpartition(":")[2]))

    def set_serving(self, serving: bool) -> None:
        """Tell probes whether to send callers here."""
        self._health.set_all(serving)

    async def ended(self) -> None:
        """Return when the server has ended, by `stop` or unexpectedly."""
        await ended(self._server)

    async def stop(self, grace_s: float) -> None:
        """Refuse new calls, give running ones a moment, then end them. Idempotent."""
        self._health.end()
        await self._connections.stop()
        await self._server.stop(grace_s)
        self._guard.tell_left_out()


def _credentials(settings: CoordinatorSettings) -> grpc.ServerCredentials:
    cert, key, ca = settings.grpc_tls_cert, settings.grpc_tls_key, settings.grpc_tls_client_ca
    if cert is None or key is None:
        raise ConfigurationError("COORDINATOR_GRPC_TLS_CERT and _KEY must be set together")
    return grpc.ssl_server_credentials(
        [(_read(key), _read(cert))],
        root_certificates=_read(ca) if ca is not None else None,
        require_client_auth=ca is not None,
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
