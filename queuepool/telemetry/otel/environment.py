"""Which exporters the OTEL_* variables name, and how to find them."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from typing import Any

from queuepool.errors import ConfigurationError
from queuepool.errors.escaping import shown

_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_PACKAGES = {"grpc": "opentelemetry-exporter-otlp-proto-grpc"}


def wanted(signal: str) -> list[str]:
    """Return the exporters for "traces" or "metrics": otlp, console, ...; [] for none.

    Without a variable that names one nothing is exported, unlike in the SDK.
    """
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    named = os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip()
    if not named:
        places = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT")
        named = "otlp" if any(os.environ.get(name) for name in places) else ""
    return [name for part in named.split(",") if (name := part.strip()) and name != "none"]


def exporter(signal: str, name: str) -> Any:
    """Return a new exporter. Raises ConfigurationError if there is none of that name."""
    variable, protocol = f"OTEL_{signal.upper()}_EXPORTER", ""
    if name == "otlp":
        variable, protocol = _protocol(signal)
        name = _PROTOCOLS.get(protocol, protocol)
    found = tuple(entry_points(group=f"opentelemetry_{signal}_exporter", name=name))
    if not found:
        package = _PACKAGES.get(protocol)
        advice = f"install {package}" if package else "use otlp, console or none"
        if protocol and not package:
            advice = f"use {' or '.join(_PROTOCOLS)}"
        raise ConfigurationError(
            f"{variable}={shown(protocol or name)}: no such exporter; {advice}"
        )
    return found[0].load()()


def _protocol(signal: str) -> tuple[str, str]:
    own, shared = f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    for name in (own, shared):
        if text := os.environ.get(name, "").strip():
            return name, text
    return shared, "http/protobuf"


def milliseconds(name: str, default: int) -> float:
    """Return the seconds of a variable in milliseconds. Raises ConfigurationError."""
    text = os.environ.get(name, "").strip()
    try:
        found = int(text) if text else default
    except ValueError:
        found = 0
    if found <= 0:
        raise ConfigurationError(f"{name}={shown(text)}: use a number of milliseconds, above 0")
    return found / 1000
