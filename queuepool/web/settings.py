"""Settings of the page, read from QUEUEPOOL_WEB_* variables."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr, model_validator
from pydantic_settings import BaseSettings

from queuepool.errors import ConfigurationError
from queuepool.settings.environment import load
from queuepool.settings.fields import LogFormat, read_from, setting

USUAL_PORT = 7080
_MASKED = "password,passwd,secret,token,api_key,apikey,authorization,credential,cookie"
_LEAST_CHARACTERS = 16


class WebSettings(BaseSettings):
    """Where the page is served, to whom, and what it hides."""

    model_config = read_from("QUEUEPOOL_WEB_")

    host: str = setting("127.0.0.1", "Address to listen on.")
    port: int | None = setting(
        None, f"Port; 0: a free one; empty: {USUAL_PORT}, or a free one if that is taken.",
        ge=0, le=65535,
    )  # fmt: skip
    token: SecretStr | None = setting(
        None, "Tokens of operators, separated by commas; NAME:TOKEN names its user."
    )
    viewer_token: SecretStr | None = setting(None, "Tokens of read-only viewers.")
    user_header: str = setting(
        "", "Header in which a trusted proxy names the user, such as X-Forwarded-User."
    )
    trusted_proxies: str = setting(
        "127.0.0.1,::1", "Addresses of the trusted proxies, separated by commas."
    )
    operators: str = setting(
        "", "Users of the proxy's header who may act, separated by commas; others are viewers."
    )
    hosts: str = setting(
        "", "Host names of the page besides localhost, separated by commas; * for any."
    )
    tls_cert: Path | None = setting(None, "PEM certificate, to serve HTTPS.")
    tls_key: Path | None = setting(None, "PEM key of the certificate.")
    secret: SecretStr | None = setting(
        None, "Signs forms; needed if several processes serve one address without a token."
    )
    payloads: Literal["everyone", "operators", "nobody"] = setting(
        "operators", "Who sees payloads, results and tracebacks."
    )
    masked: str = setting(_MASKED, "Mask payload fields whose names contain one of these words.")
    trace_url: str = setting(
        "", "Where a trace is seen, such as https://traces.example.org/trace/{trace_id}."
    )
    log_format: LogFormat = "text"

    @model_validator(mode="after")
    def _whole(self) -> WebSettings:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError(
                "QUEUEPOOL_WEB_TLS_CERT and QUEUEPOOL_WEB_TLS_KEY: set both, or neither"
            )
        url = self.trace_url
        if url and not (url.startswith(("https://", "http://")) and "{trace_id}" in url):
            raise ValueError(
                "QUEUEPOOL_WEB_TRACE_URL: use an http or https address with {trace_id} in it"
            )
        operators, viewers = self.tokens("token"), self.tokens("viewer_token")
        if any(len(token) < _LEAST_CHARACTERS for _, token in [*operators, *viewers]):
            raise ValueError(
                f"QUEUEPOOL_WEB_TOKEN, _VIEWER_TOKEN: a token has at least {_LEAST_CHARACTERS} "
                "characters; generate one with: python -c 'import secrets; "
                "print(secrets.token_urlsafe(32))'"
            )
        if {token for _, token in operators} & {token for _, token in viewers}:
            raise ValueError("QUEUEPOOL_WEB_TOKEN and _VIEWER_TOKEN have a token in common")
        return self

    def tokens(self, name: Literal["token", "viewer_token"]) -> list[tuple[str, str]]:
        """Return (whose, token) of each token of a setting."""
        secret: SecretStr | None = getattr(self, name)
        role = "operator" if name == "token" else "viewer"
        found = []
        for word in words(secret.get_secret_value() if secret else ""):
            who, colon, token = word.partition(":")
            found.append((who or role, token) if colon else (role, word))
        return found

    @property
    def knows_users(self) -> bool:
        """Return whether someone can be told from others."""
        return bool(self.user_header or self.token or self.viewer_token)

    @property
    def is_local(self) -> bool:
        """Return whether only this machine reaches the page."""
        if self.host.lower() == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:  # a name
            return False


def words(text: str) -> list[str]:
    """Return the parts between commas that are not empty."""
    return [word for part in text.split(",") if (word := part.strip())]


def load_settings(given: Mapping[str, Any] | None = None) -> WebSettings:
    """Return the settings. Raises ConfigurationError."""
    settings = load(WebSettings, given)
    if not settings.is_local and not settings.knows_users:
        raise ConfigurationError(
            f"QUEUEPOOL_WEB_HOST={settings.host}: other machines may reach the page only with "
            f"QUEUEPOOL_WEB_TOKEN, or through a proxy that names its users "
            f"(QUEUEPOOL_WEB_USER_HEADER)"
        )
    return settings
