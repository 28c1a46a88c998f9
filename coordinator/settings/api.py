"""Settings of a coordinator's gRPC API: where it listens, and who may call it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr
from pydantic_settings import BaseSettings

from coordinator.core.reached import is_loopback
from queuepool.errors import ConfigurationError
from queuepool.settings.fields import setting

if TYPE_CHECKING:
    from queuepool.rpc.auth import Access

DEFAULT_GRPC_PORT = 50551


class ApiSettings(BaseSettings):
    """The part of `CoordinatorSettings` that is about the API."""

    grpc_host: str = setting("127.0.0.1", "Address the gRPC API listens on.")
    grpc_port: int = setting(
        DEFAULT_GRPC_PORT, "Port of the gRPC API; 0: a free one.", ge=0, le=65535
    )
    grpc_address: str = setting(
        "",
        "Advertised HOST:PORT of the API. Unset: the bound address, with this machine's name "
        "instead of a wildcard such as 0.0.0.0.",
    )
    grpc_insecure: bool = setting(
        False,
        "Listen on other addresses without authentication, so that anyone can set worker counts.",
    )
    grpc_token: SecretStr | None = setting(None, "Bearer tokens of operators, separated by commas.")
    grpc_viewer_token: SecretStr | None = setting(
        None, "Bearer tokens of read-only viewers, separated by commas."
    )
    grpc_operators: str | None = setting(
        None,
        "Certificate names of operators, separated by commas; others are viewers. Unset: all "
        "are operators.",
    )
    grpc_tls_cert: Path | None = setting(None, "PEM certificate chain.")
    grpc_tls_key: Path | None = setting(None, "PEM key of the certificate.")
    grpc_tls_client_ca: Path | None = setting(
        None, "PEM of the CA that must have issued client certificates (mTLS)."
    )
    grpc_reflection: bool = setting(False, "Enable gRPC reflection.")
    keda: bool = setting(False, "Serve the wanted number of consumers to KEDA over gRPC.")

    def access(self) -> Access:
        """Return the callers' permissions."""
        from queuepool.rpc.auth import Access

        tokens, viewers = self._tokens("grpc_token"), self._tokens("grpc_viewer_token")
        return Access(tokens, viewers, self._operators())

    def grpc_is_open(self) -> bool:
        """Return whether anyone who reaches the API may call it."""
        guards = (self.grpc_token, self.grpc_viewer_token, self.grpc_tls_client_ca)
        return all(guard is None for guard in guards)

    def api_problems(self) -> list[str]:
        """Return what does not fit together."""
        return [*self._tls_problems(), *self._token_problems(), *self._open_problems()]

    def _tls_problems(self) -> list[str]:
        found = []
        if (self.grpc_tls_cert is None) != (self.grpc_tls_key is None):
            found.append("set COORDINATOR_GRPC_TLS_CERT and COORDINATOR_GRPC_TLS_KEY, or neither")
        if self.grpc_tls_client_ca is not None and self.grpc_tls_cert is None:
            found.append(
                "COORDINATOR_GRPC_TLS_CLIENT_CA also needs a server certificate "
                "(COORDINATOR_GRPC_TLS_CERT and _KEY)"
            )
        for name in ("grpc_tls_cert", "grpc_tls_key", "grpc_tls_client_ca"):
            path = getattr(self, name)
            # Not path.is_file(): it raises for an impossible file name.
            if path is not None and not os.path.isfile(path):  # noqa: PTH113
                found.append(f"COORDINATOR_{name.upper()}: there is no file {path}")
        return found

    def _open_problems(self) -> list[str]:
        if self.grpc_insecure or not self.grpc_is_open() or is_loopback(self.grpc_host):
            return []
        return [
            f"COORDINATOR_GRPC_HOST={self.grpc_host} is reachable from other machines, and "
            "without a token anyone who reaches it can set worker counts: set "
            "COORDINATOR_GRPC_TOKEN (with COORDINATOR_GRPC_TLS_CERT and _KEY), or "
            "COORDINATOR_GRPC_TLS_CLIENT_CA for client certificates; or "
            "COORDINATOR_GRPC_INSECURE=true if the network restricts access"
        ]

    def _token_problems(self) -> list[str]:
        from queuepool.rpc.client import bearer

        found = []
        for name in ("grpc_token", "grpc_viewer_token"):
            tokens, variable = self._tokens(name), f"COORDINATOR_{name.upper()}"
            if getattr(self, name) is not None and not tokens:
                found.append(f"{variable} is empty: set a token, or unset it")
            try:
                for token in tokens:
                    bearer(token)
            except ConfigurationError as error:
                found.append(f"{variable}: {error}")
        if {*self._tokens("grpc_token")} & {*self._tokens("grpc_viewer_token")}:
            found.append(
                "COORDINATOR_GRPC_TOKEN and COORDINATOR_GRPC_VIEWER_TOKEN have a token "
                "in common; use different ones"
            )
        if self.grpc_operators is not None and not self._operators():
            found.append("COORDINATOR_GRPC_OPERATORS is empty: set names, or unset it")
        if self.grpc_operators is not None and self.grpc_tls_client_ca is None:
            found.append("COORDINATOR_GRPC_OPERATORS needs COORDINATOR_GRPC_TLS_CLIENT_CA")
        return found

    def _tokens(self, name: str) -> tuple[str, ...]:
        secret: SecretStr | None = getattr(self, name)
        return _listed(secret.get_secret_value() if secret is not None else "")

    def _operators(self) -> tuple[str, ...] | None:
        return None if self.grpc_operators is None else _listed(self.grpc_operators)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))
