"""Who is let in, who may act, and what every answer tells browsers."""

import logging
import subprocess
import sys

import pytest

from queuepool.errors import ConfigurationError
from queuepool.rpc.auth import ApiRole
from queuepool.web import app
from queuepool.web.auth.users import SESSION_S, Tokens, User
from queuepool.web.settings import load_settings
from tests.unit.web.conftest import OPERATOR, VIEWER, Browser, MakeSite, Site


def test_strangers_are_sent_to_sign_in_and_learn_nothing(site: Site) -> None:
    stranger = site.browser()

    answer = stranger.get("/find?state=dead&error=a%20b")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=/find%3Fstate%3Ddead%26error%3Da%2520b"
    assert stranger.get("/live", accept="text/event-stream").status_code == 401
    assert "host:1" not in stranger.get("/login").text


def test_a_token_opens_a_session_that_leads_back_to_the_page_that_was_asked_for(site: Site) -> None:
    browser = site.browser()

    answer = browser.post("/login", token=OPERATOR, next="/errors")

    assert (answer.status_code, answer.headers["location"]) == (303, "/errors")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert OPERATOR not in cookie
    assert "ada" in browser.text("/")


@pytest.mark.parametrize("elsewhere", ["//evil.example", "https://evil.example", "/\\evil", "x"])
def test_signing_in_never_leads_to_another_site(site: Site, elsewhere: str) -> None:
    answer = site.browser().post("/login", token=OPERATOR, next=elsewhere)

    assert answer.headers["location"] == "/"


def test_an_unknown_token_is_refused_and_only_so_often(site: Site) -> None:
    browser = site.browser()

    answers = [browser.post("/login", token="x" * 20).status_code for _ in range(12)]

    assert answers[0] == 403
    assert answers[-1] == 429


def test_a_session_ends_with_its_time_and_with_its_token() -> None:
    now = [1000.0]
    tokens = Tokens([("ada", OPERATOR)], [("vera", VIEWER)], lambda: now[0])
    cookie = tokens.session(VIEWER)

    assert tokens.open(cookie) == User("vera", ApiRole.VIEWER)
    assert tokens.open(cookie[:-1] + ("0" if cookie[-1] != "0" else "1")) is None
    assert tokens.open(cookie.replace(".", ".9", 1)) is None
    assert Tokens([("ada", OPERATOR)], [], lambda: now[0]).open(cookie) is None
    now[0] += SESSION_S + 1
    assert tokens.open(cookie) is None


@pytest.mark.parametrize("cookie", ["", "a", "..", "a.b.c.d", "é.1.x.y", "x.99999999999.n.\ud800"])
def test_no_cookie_of_others_opens_a_session(cookie: str) -> None:
    assert Tokens([("ada", OPERATOR)], []).open(cookie) is None


@pytest.mark.parametrize("mac", ["éé", "\udce9", ""])
def test_a_session_with_another_signature_is_none(mac: str) -> None:
    tokens = Tokens([("ada", OPERATOR)], [])
    text, _, _ = tokens.session(OPERATOR).rpartition(".")

    assert tokens.open(f"{text}.{mac}") is None


def test_a_viewer_cannot_act_and_sees_no_forms_for_it(
    viewer: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "queuepool.web.audit"):
        answer = viewer.post("/pause")

    assert answer.status_code == 403
    assert 'action="/pause"' not in viewer.text("/")
    assert caplog.records[-1].__dict__["who"] == "vera"


def test_a_form_without_the_token_of_its_browser_is_refused(site: Site, operator: Browser) -> None:
    other = site.browser(OPERATOR)
    stolen = other.text("/").split('name="_form" value="')[1].split('"')[0]

    assert operator.forge("/pause", reason="x").status_code == 403
    assert operator.forge("/pause", _form=stolen).status_code == 403
    assert not any(name == "Hold" for name, _ in site.coordinator.asked)


@pytest.mark.parametrize(
    "headers",
    [{"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://evil"}],
)
def test_a_form_from_another_site_is_refused(operator: Browser, headers: dict[str, str]) -> None:
    form = operator.text("/").split('name="_form" value="')[1].split('"')[0]

    answer = operator.client.post("/pause", data={"_form": form}, headers=headers)

    assert answer.status_code == 403


def test_names_that_lead_here_by_a_trick_are_refused(make_site: MakeSite) -> None:
    site = make_site(hosts="queues.example.org")
    browser = site.browser(OPERATOR)

    assert browser.get("/", host="evil.example").status_code == 421
    assert browser.get("/", host="localhost.evil.example:7080").status_code == 421
    assert browser.get("/", host="queues.example.org").status_code in (200, 303)
    assert browser.get("/", host="127.0.0.1:7080").status_code in (200, 303)


def test_every_answer_forbids_foreign_code_frames_and_caches(operator: Browser) -> None:
    for path in ("/", "/login", "/nowhere", "/static/app.js"):
        headers = operator.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert operator.get("/").headers["cache-control"] == "no-store"


def test_a_proxy_names_users_and_nobody_else_does(make_site: MakeSite) -> None:
    site = make_site(
        user_header="X-User", trusted_proxies="testclient", operators="olga",
        token="", viewer_token="",
    )  # fmt: skip
    untrusted = make_site(user_header="X-User", token="", viewer_token="")

    olga, otto = site.browser(**{"x-user": "olga"}), site.browser(**{"x-user": "otto"})

    assert olga.post("/pause").status_code == 303
    assert otto.post("/pause").status_code == 403
    assert "otto" in otto.text("/")
    assert site.browser().get("/").status_code == 303
    assert untrusted.browser(**{"x-user": "olga"}).get("/").status_code == 303


def test_an_application_that_mounts_the_page_says_who_asks(make_site: MakeSite) -> None:
    site = make_site(user=lambda request: User(request.headers["x-me"], ApiRole.VIEWER))

    assert "eve" in site.browser(**{"x-me": "eve"}).text("/")


def test_other_machines_reach_the_page_only_if_users_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigurationError, match="only with QUEUEPOOL_WEB_TOKEN"):
        load_settings({"host": "0.0.0.0"})
    with pytest.raises(ConfigurationError, match="nobody could sign in"):
        app()

    assert load_settings({"host": "0.0.0.0", "token": OPERATOR}).host == "0.0.0.0"


@pytest.mark.parametrize("given", [{"token": "short"}, {"tls_cert": "a.pem"}])
def test_settings_that_protect_nothing_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="QUEUEPOOL_WEB_"):
        load_settings(given)


@pytest.mark.thorough
def test_nothing_of_the_page_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, queuepool, consumer.__main__, queuepool.cli.commands.up\n"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('starlette', 'uvicorn', "
        "'jinja2') or n.startswith('queuepool.web')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
