"""How every page looks: wide and narrow, dark and light, with and without scripts."""

import os
from collections.abc import Callable
from functools import partial

import pytest

from queuepool import After
from queuepool.models import Schedule
from tests.browser.conftest import Live
from tests.browser.tools import Chromium
from tests.paths import ROOT
from tests.waiting import wait_until

WIDTHS = (360, 900, 1600)


@pytest.fixture(scope="module")
def paths(live: Live) -> list[str]:
    """Every page, with something on it."""
    [dead, *_] = live.mails("look", 5, fail=True)
    live.mails("look", 300, seconds=0.2)
    live.pool.schedules.set(Schedule("often", "send", {"to": "x"}, every="10m"))
    flow = live.pool.enqueue_many(
        "send", [{"to": "x", "seconds": 60}], partition_key="flow", then=After("send", {"to": "y"})
    )
    live.cluster.run("limit", "set", "mail", "--rate", "20")
    wait_until(lambda: live.pool.inspect.count("dead") >= 5, message="jobs have died")
    return [
        "/", "/partition/0", "/groups", "/group?key=look", "/find", "/find?state=dead",
        f"/job?id={dead}", "/errors", "/scaling", "/limits", "/schedules", "/flows",
        f"/flow?name={flow.batch.name}", "/log", "/system",
    ]  # fmt: skip


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_and_everybody_can_use_it(
    operator: Chromium, paths: list[str], width: int, dark: bool
) -> None:
    operator.look(width, dark=dark)
    found: dict[str, object] = {}
    for path in paths:
        operator.open(path)
        wide = operator.overflow()
        if wide > 0:
            found[f"{path} is wider than the window"] = wide
        # What axe looks at hardly depends on the width: the widest and the narrowest will do.
        if (width, dark) != (900, True) and (problems := operator.accessibility()):
            found[path] = problems
        assert operator.has("#verdict")

    assert found == {}


def test_the_theme_is_switched_and_stays(operator: Chromium) -> None:
    operator.open("/")
    before = operator.driver.execute_script("return getComputedStyle(document.body).color")

    operator.find("#theme").click()
    operator.open("/errors")

    after = operator.driver.execute_script("return getComputedStyle(document.body).color")
    assert before != after
    operator.find("#theme").click()
    operator.driver.execute_script("localStorage.clear()")


def test_text_of_payloads_and_errors_stays_text(operator: Chromium, live: Live) -> None:
    [job_id] = live.mails("html", fail=True)
    wait_until(lambda: str(live.pool.status(job_id).state) == "dead", message="it has died")

    operator.open(f"/job?id={job_id}")

    assert "no mailbox of <b><i>html</i> 0</b>" in operator.text()
    assert not operator.has("main b i")
    assert "hunter2" not in operator.driver.page_source


def test_pages_are_read_without_scripts(live: Live, paths: list[str]) -> None:
    plain = Chromium(live.address)
    try:
        plain.sign_in(live.link)
        plain.without_scripts()
        plain.open("/")
        assert "Jobs a second" in plain.text()
        plain.open("/group?key=look")
        assert "ended" in plain.text()
    finally:
        plain.close()


@pytest.mark.skipif(not os.environ.get("PICTURE"), reason="only with --picture")
def test_the_picture_of_the_readme(operator: Chromium, live: Live) -> None:
    operator.look(1280, height=860)
    operator.open("/")

    def points() -> int:
        return str(operator.find("#c-backlog-0").get_attribute("d")).count("l")

    first = points()
    for wave, jobs in enumerate((900, 300, 4200, 700, 1500, 2600, 3000)):
        live.mails("report", jobs, seconds=0.12)
        for n in range(4):
            live.mails(f"campaign-{n}", 25 + 20 * n, seconds=0.05)
        live.mails("campaign-3", 4 + wave, fail=True)
        operator.until(partial(_is_over, points, first + 2 * wave), "the curve grows", 60)
    live.mails("report", 9000, seconds=0.2)
    live.mails("campaign-7", 700, seconds=0.3)
    operator.until(partial(_is_over, points, first + 15), "the load is on the curve", 60)
    operator.open("/")
    operator.until(lambda: operator.text("#live") == "live", "updates come")
    operator.picture(ROOT / "docs" / "page.png")

    assert (ROOT / "docs" / "page.png").stat().st_size < 250_000


def _is_over(number: Callable[[], int], bound: int) -> bool:
    return number() > bound
