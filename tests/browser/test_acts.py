"""Every act by mouse, a bulk action from start to end; keyboard alone; viewers and forgers."""

import json
from functools import partial

import pytest

from queuepool import After
from queuepool.models import JobState, Schedule
from tests.browser.conftest import Live
from tests.browser.tools import Chromium
from tests.waiting import wait_until

ENTER, TAB, ESCAPE = "\ue007", "\ue004", "\ue00c"


def test_a_bulk_action_is_watched_held_released_and_cancelled(
    operator: Chromium, live: Live
) -> None:
    live.mails("bulk", 20_000, seconds=0.1)  # more than all workers can do meanwhile
    operator.open("/group?key=bulk")

    def done() -> int:
        return int(operator.text("#s-done").replace(",", ""))

    first = done()
    operator.until(lambda: done() > first, "progress moves by itself")
    assert operator.act("Hold", reason="try") == "The group is held; running jobs continue."
    operator.until(lambda: operator.text("#s-in_flight") == "0", "running jobs have ended")
    held_at = live.pool.group("bulk").status()
    assert held_at.held_ms is not None

    assert operator.act("Release") == "The group runs again."
    operator.until(lambda: done() > held_at.done, "it goes on")
    assert "jobs were cancelled" in operator.act("Cancel")
    operator.until(lambda: operator.text("#g-progress") == "100.0%", "it has ended")
    assert live.pool.group("bulk").status().cancelled > 0


def test_a_small_bulk_action_is_watched_to_its_end(operator: Chromium, live: Live) -> None:
    live.mails("whole", 120, seconds=0.05)

    operator.open("/group?key=whole")

    operator.until(lambda: operator.text("#s-done") == "120", "all are done", 40)
    assert operator.text("#g-progress") == "100.0%"


def test_all_partitions_are_paused_and_resumed(operator: Chromium, live: Live) -> None:
    operator.open("/")

    assert operator.act("Pause all", reason="try").startswith("All partitions are held")
    operator.until(lambda: operator.has("#strip .hp"), "the strip shows it")
    assert operator.act("Resume all").startswith("All partitions run")
    operator.until(lambda: not operator.has("#strip .hp"), "the strip shows it")


def test_a_partition_is_scaled_held_and_released(operator: Chromium, live: Live) -> None:
    operator.open("/partition/1")
    assert "has 11 workers" in operator.act("Scale", workers="11", **{"for": "5m"})
    operator.until(lambda: "of 11" in operator.text("#t-workers"), "the count is shown")

    def reload_until(label: str) -> None:
        def is_there() -> bool:
            operator.open("/partition/1")
            found = operator.driver.find_elements("css selector", "details.act > summary")
            return label in [one.text for one in found]

        operator.until(is_there, label)

    reload_until("Back to the policy")
    assert "Automatic scaling resumed" in operator.act("Back to the policy")
    assert "Partition 1 is held" in operator.act("Hold")
    reload_until("Release")
    assert operator.act("Release") == "Partition 1 runs again."


def test_a_group_is_configured(operator: Chromium, live: Live) -> None:
    live.mails("few", 3, seconds=0.0)
    operator.open("/group?key=few")

    assert operator.act("Configure", max_running="2", serial="yes") == "The group is configured."

    assert live.pool.group("few").status().serial


def test_a_job_is_run_edited_and_cancelled(operator: Chromium, live: Live) -> None:
    later = live.pool.enqueue("send", {"to": "later"}, partition_key="jobs", delay_s=3600).job_id
    never = live.pool.enqueue("send", {"to": "never"}, partition_key="jobs", delay_s=3600).job_id
    [dead] = live.mails("jobs", fail=True)
    wait_until(lambda: live.pool.status(dead).state is JobState.DEAD, message="it has died")

    operator.open(f"/job?id={later}")
    assert "is due now" in operator.act("Run now")
    operator.open(f"/job?id={never}")
    assert operator.act("Cancel") == "The job is cancelled; it was delayed."
    operator.open(f"/job?id={dead}")
    area = operator.find("textarea")
    edited = json.loads(area.get_attribute("value")) | {"fail": False}
    operator.driver.execute_script("arguments[0].value = arguments[1]", area, json.dumps(edited))
    note = operator.push("form[action*='/job/act/edit'] button")

    assert "has its new arguments, and is due now" in note
    wait_until(lambda: live.pool.status(dead).state is JobState.DONE, message="it has run")
    wait_until(lambda: live.pool.status(later).state is JobState.DONE, message="it has run")


def test_dead_jobs_are_counted_and_then_replayed_or_discarded(
    operator: Chromium, live: Live
) -> None:
    live.mails("graves", 30, fail=True)
    wait_until(lambda: live.pool.group("graves").status().dead == 30, message="they have died")
    operator.open("/find?state=dead&key=graves")

    operator.push("form[action='/bulk'] button")  # the first one: replay
    assert operator.text("h1") == "Replay 30 jobs?"
    operator.push("form[action='/bulk/begin'] button")
    operator.until(lambda: operator.text("#k-state") == "done", "it has ended")
    assert "30 jobs were replayed" in operator.text("#k-text")

    wait_until(lambda: live.pool.group("graves").status().dead == 30, message="they died again")
    operator.open("/errors")
    operator.push("form[action='/bulk'] button[aria-label^='Discard']")
    operator.push("form[action='/bulk/begin'] button")
    operator.until(lambda: operator.text("#k-state") == "done", "it has ended")
    assert live.pool.group("graves").status().dead == 0


def test_waiting_jobs_are_cancelled_together_and_a_slow_act_is_stopped(
    operator: Chromium, live: Live
) -> None:
    for n in range(5):
        live.pool.enqueue("send", {"to": str(n)}, partition_key="wait", delay_s=3600)
    operator.open("/find?state=delayed&key=wait")
    operator.push("form[action='/bulk'] button")
    operator.find("input[name=rate]").send_keys("0.05")
    operator.push("form[action='/bulk/begin'] button")
    operator.until(lambda: operator.text("#k-changed") == "1", "the first is cancelled")

    assert operator.act("Stop").startswith("Stopped")

    operator.until(lambda: operator.text("#k-state") == "stopped", "it has stopped")
    assert live.pool.group("wait").status().delayed == 4


def test_scaling_is_set_and_foretold(operator: Chromium, live: Live) -> None:
    operator.open("/scaling")
    assert "mode: not set → hold-up" in operator.act("Mode", mode="hold-up")
    assert "max_workers: not set → 48" in operator.act("Limits", max_workers="48")
    assert "profile: not set → spike" in operator.act("Profile", profile="spike")
    assert "mode: hold-up → not set" in operator.act("Other value", name="mode", value="")
    operator.act("Limits", max_workers="")
    operator.act("Profile", profile="")

    slider = operator.find("input[type=range]")
    before = operator.text("#answers")
    slider.send_keys("\ue010")  # End: the most
    operator.until(lambda: operator.text("#answers") != before, "the answer follows the slider")


def test_a_limit_is_set_paused_resumed_and_removed(operator: Chromium, live: Live) -> None:
    operator.open("/limits")

    assert "Limit sms allows 5/s" in operator.act("Set a limit", limit="sms", rate="5")
    assert "is paused" in operator.push("button[aria-label='Pause sms']")
    assert "no longer paused" in operator.push("button[aria-label='Resume sms']")
    assert "have been removed" in operator.push("button[aria-label='Remove sms']")


def test_a_schedule_is_run_paused_resumed_and_removed(operator: Chromium, live: Live) -> None:
    live.pool.schedules.set(Schedule("hourly", "send", {"to": "x"}, every="1h"))
    operator.open("/schedules")

    assert "is enqueued" in operator.push("button[aria-label='Run now: hourly']")
    assert "is paused" in operator.push("button[aria-label='Pause: hourly']")
    assert "is resumed" in operator.push("button[aria-label='Resume: hourly']")
    assert "is removed" in operator.push("button[aria-label='Remove: hourly']")


def test_a_flow_is_cancelled(operator: Chromium, live: Live) -> None:
    jobs = [{"to": "x", "seconds": 30.0}] * 3
    made = live.pool.enqueue_many(
        "send", jobs, partition_key="flows", then=After("send", {"to": "y"})
    )
    operator.open("/flows")
    operator.find(f"a[href*='{made.batch.name}']").click()
    operator.until(lambda: operator.path.startswith("/flow?"), "the tree is there")

    assert "The batch is cancelled" in operator.act("Cancel")


def test_a_consumer_is_drained_and_another_takes_over(operator: Chromium, live: Live) -> None:
    def owners() -> list[str]:
        found = (place.observe().owner for place in live.pool.places())
        return [f"{one.host}:{one.epoch}" for one in found if one is not None and not one.to_end]

    before = owners()
    operator.open("/system")
    name = str(operator.find("button[aria-label^='Drain ']").get_attribute("aria-label"))

    note = operator.push("button[aria-label^='Drain ']")

    assert note.startswith(f"Consumer {name.removeprefix('Drain ')} drains: its ")
    operator.until(lambda: len(set(owners()) - set(before)) == 1, "another one came", 60)
    operator.until(lambda: len(owners()) == len(before), "every partition has an owner", 60)


# -- keyboard ------------------------------------------------------------------------------------


def test_everything_is_reached_by_keys_alone(operator: Chromium, live: Live) -> None:
    [job_id] = live.mails("keys")

    def is_at(path: str) -> bool:
        return operator.path == path

    operator.open("/errors")
    operator.press("g", "o")
    operator.until(lambda: operator.path == "/", "overview")
    operator.press("?")
    operator.until(lambda: operator.has("dialog[open]"), "the list of keys")
    operator.press(ESCAPE)
    operator.press("/")
    assert operator.focused().get_attribute("id") == "search"
    operator.press(job_id, ENTER)
    operator.until(lambda: operator.path == f"/job?id={job_id}", "the job")
    names = ("groups", "find", "errors", "scaling", "limits", "schedules", "flows", "log", "system")
    for key, name in zip("gjesltfhy", names, strict=True):
        operator.press("g", key)
        operator.until(partial(is_at, f"/{name}"), name)


def test_an_act_is_done_by_keys_alone(operator: Chromium, live: Live) -> None:
    live.mails("typed", 1)
    operator.open("/group?key=typed")
    for _ in range(40):
        operator.press(TAB)
        if operator.focused().text == "Hold":
            break
    assert operator.focused().tag_name == "summary"
    before = operator.driver.find_element("tag name", "html")

    operator.press(ENTER)
    operator.until(lambda: operator.focused().get_attribute("name") == "reason", "the form is open")
    operator.press("by keys", ENTER)

    assert operator.after(before).startswith("The group is held")
    assert live.pool.group("typed").status().held_ms is not None


# -- who may not ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/partition/0", "/group?key=bulk", "/errors", "/scaling"])
def test_a_viewer_has_no_acts(viewer: Chromium, live: Live, path: str) -> None:
    viewer.open(path)

    forms = viewer.driver.find_elements("css selector", "form[method=post]")
    assert [one.get_attribute("action").rpartition("/")[2] for one in forms] == ["logout"]


_SEND = """
const [path, token, done] = arguments;
const body = new URLSearchParams({_form: token, workers: "9", for: "1h", mode: "hold", name: "x"});
fetch(path, {method: "POST", body, redirect: "manual"})
  .then(answer => done(answer.type === "opaqueredirect" ? 303 : answer.status));
"""


@pytest.mark.parametrize(
    "path",
    [
        "/pause", "/resume", "/partition/0/act/scale", "/partition/0/act/hold",
        "/group/act/cancel?key=bulk", "/job/act/cancel?id=x", "/bulk", "/bulk/begin",
        "/scaling/set", "/limits/act/set", "/schedules/act/remove", "/flow/cancel?name=x",
    ],
)  # fmt: skip
def test_what_a_viewer_sends_is_refused(viewer: Chromium, path: str) -> None:
    viewer.open("/")
    token = viewer.driver.find_element("name", "_form").get_attribute("value")

    status = viewer.driver.execute_async_script(_SEND, path, token)

    assert status == 403


def test_a_forged_form_is_refused(operator: Chromium, viewer: Chromium, live: Live) -> None:
    viewer.open("/")
    foreign = viewer.driver.find_element("name", "_form").get_attribute("value")
    operator.open("/")

    for token in ("", "0" * 64, foreign):
        assert operator.driver.execute_async_script(_SEND, "/pause", token) == 403

    operator.driver.get_log("browser")  # the refusals stand there
