"""What a message of OpenSSL means for whoever operates the server."""

import ssl

import pytest

from queuepool.servers.tls import remedy

FAILED = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (FAILED + "self-signed certificate in certificate chain (_ssl.c:1006)", "QUEUEPOOL_TLS_CA"),
        (
            FAILED + "CA cert does not include key usage extension (_ssl.c:1127)",
            "issue another one",
        ),
        (FAILED + "Missing Authority Key Identifier (_ssl.c:1127)", "issue another one"),
        (FAILED + "certificate has expired (_ssl.c:1006)", "renew it"),
    ],
)
def test_a_remedy_fits_the_reason(message: str, part: str) -> None:
    failure = ConnectionError("cannot connect")
    failure.__context__ = ssl.SSLCertVerificationError(1, message)

    assert part in remedy(failure)
