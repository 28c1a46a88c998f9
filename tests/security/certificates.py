"""Certificates for one test run, made by the `openssl` program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HAVE_OPENSSL = shutil.which("openssl") is not None
KEY_PASSWORD = "password-of-the-key"


class Authority:
    """A certificate authority in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.ca = folder / "ca.pem"
        self._openssl(
            "req", "-x509", *_KEY, "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=ca of a test",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",  # Python 3.13 insists on it
        )  # fmt: skip

    def issue(self, name: str, names: str = "IP:127.0.0.1,DNS:localhost") -> tuple[Path, Path]:
        """Return (certificate, key) for a common name and alternative names."""
        (self._folder / "names").write_text(f"subjectAltName={names}")
        self._openssl(
            "req", *_KEY, "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
            "-subj", f"/O=tests/CN={name}",
        )  # fmt: skip
        self._openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.pem",
        )  # fmt: skip
        return self._folder / f"{name}.pem", self._folder / f"{name}.key"

    def locked(self, key: Path, password: str = KEY_PASSWORD) -> Path:
        """Return a copy of a key that only a password opens."""
        locked = key.with_suffix(".locked")
        self._openssl(
            "pkcs8", "-topk8", "-in", str(key), "-out", str(locked), "-passout", f"pass:{password}"
        )
        return locked

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True)


_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
