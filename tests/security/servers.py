"""Redis with a TLS port beside the plain one."""

from __future__ import annotations

import shutil
from pathlib import Path

from queuepool.process.embedded import EmbeddedServer
from queuepool.process.embedded.errors import EmbeddedServerError
from queuepool.process.embedded.ports import pick_port

REDIS = shutil.which("redis-server")  # Debian's: the bundled server has no TLS
_ATTEMPTS = 8


class TlsServer(EmbeddedServer):
    """Extra arguments are `more` and the TLS port, another one when someone else took it first."""

    def __init__(
        self, authority: Path, pair: tuple[Path, Path], *, mutual: bool, more: tuple[str, ...] = ()
    ) -> None:
        assert REDIS is not None
        super().__init__(binary=Path(REDIS), appendonly=False)
        self.tls_port = 0
        self._words = (
            "--tls-ca-cert-file", str(authority), "--tls-cert-file", str(pair[0]),
            "--tls-key-file", str(pair[1]), "--tls-auth-clients", "yes" if mutual else "no", *more,
        )  # fmt: skip

    def start(self) -> None:
        for attempt in range(_ATTEMPTS):
            self.tls_port = pick_port()
            self._extra_args = (*self._words, "--tls-port", str(self.tls_port))
            try:
                super().start()
            except EmbeddedServerError as error:
                if "in use" not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return

    def over_tls(self, host: str = "127.0.0.1", scheme: str = "rediss") -> str:
        """Return the URL of the TLS port."""
        return f"{scheme}://{host}:{self.tls_port}/0"
