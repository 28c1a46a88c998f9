"""queuepool web: who gets a generated token, by where the page listens."""

import argparse
from collections.abc import Callable

import pytest

from queuepool.cli.commands import web
from queuepool.cli.exits import Exit
from queuepool.errors import ConfigurationError
from queuepool.web import serving
from queuepool.web.settings import WebSettings

TOKEN = "operator-token-0001"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[WebSettings]:
    """Return the settings of pages that were served, each until it said its address."""
    found: list[WebSettings] = []

    def serve(settings: WebSettings, said: Callable[[str], None]) -> None:
        found.append(settings)
        said(f"http://{settings.host}:7080/")

    monkeypatch.setattr(serving, "serve", serve)
    for name in ("HOST", "TOKEN", "VIEWER_TOKEN", "USER_HEADER"):
        monkeypatch.delenv(f"QUEUEPOOL_WEB_{name}", raising=False)
    return found


def start(host: str | None = None) -> Exit:
    return web.run(argparse.Namespace(link=False, host=host, port=None, grpc=None))


@pytest.mark.parametrize("host", [None, "127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_a_page_of_this_machine_gets_a_token_and_a_link(
    served: list[WebSettings], host: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(host) is Exit.OK

    [settings] = served
    [(who, token)] = settings.tokens("token")
    assert (settings.host, who) == (host or "127.0.0.1", "operator")
    assert f"#token={token}" in capsys.readouterr().out


@pytest.mark.parametrize("by_argument", [True, False])
def test_a_page_that_others_reach_needs_a_token_of_ones_own(
    served: list[WebSettings], monkeypatch: pytest.MonkeyPatch, by_argument: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if not by_argument:
        monkeypatch.setenv("QUEUEPOOL_WEB_HOST", "0.0.0.0")
    host = "0.0.0.0" if by_argument else None

    with pytest.raises(ConfigurationError, match=r"QUEUEPOOL_WEB_HOST=0\.0\.0\.0: other machines"):
        start(host)
    assert served == []

    monkeypatch.setenv("QUEUEPOOL_WEB_TOKEN", TOKEN)
    start(host)
    assert served[0].tokens("token") == [("operator", TOKEN)]
    assert "#token" not in capsys.readouterr().out


def test_the_address_given_counts_and_not_that_of_the_environment(
    served: list[WebSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEPOOL_WEB_HOST", "0.0.0.0")

    start("127.0.0.1")

    assert served[0].knows_users
