"""What the pages show of jobs, groups, errors and the rest, and what their acts do."""

import json
import re
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from queuepool.client.after import After
from queuepool.client.flows.declared import Flow
from queuepool.models import JobState, Limit, Schedule
from queuepool.rpc.limits import definition_of
from queuepool.rpc.v1 import decision_pb2, limit_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.tasks.registry import Registry
from queuepool.testing import run_jobs
from queuepool.web.pages import groups, jobs, partition
from tests.unit.web.conftest import OPERATOR, VIEWER, Browser, MakeSite, Site
from tests.unit.web.coordinator import state
from tests.waiting import wait_until

pytestmark = pytest.mark.thorough

HTML = "<script>alert(1)</script>"
registry = Registry()


@registry.task(max_attempts=1)
def send(to: str, password: str = "", fail: bool = False) -> str:
    if fail:
        raise ValueError(f"no mailbox 4711 {HTML}")
    return to


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    made = make_site()
    made.pool.producer.registry = registry
    return made


def enqueue(site: Site, to: str = "ada", key: str = "mails", **more: Any) -> str:
    payload = {"to": to, "password": "hunter2", "fail": more.pop("fail", False)}
    return site.pool.enqueue("send", payload, partition_key=key, **more).job_id


def dead(site: Site, count: int = 1, key: str = "mails") -> list[str]:
    found = [enqueue(site, str(n), key, fail=True) for n in range(count)]
    run_jobs(site.pool)
    return found


# -- partition ------------------------------------------------------------


def test_a_partition_shows_jobs_by_reason_and_its_decisions_on_the_curve(
    site: Site, operator: Browser
) -> None:
    at_ms = round(site.desk.board.look.at_s * 1000) - 30_000
    decision = decision_pb2.Decision(
        id="1-1", at_ms=at_ms, partition=1, previous_target=8, target=16, policy="sized",
        reason=f"many jobs {HTML}",
    )  # fmt: skip
    site.coordinator.answers["ListDecisions"] = api.ListDecisionsResponse(decisions=[decision])
    site.coordinator.states[1] = state(1, backlog=500, parked=20, capped=3)
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, at_ms / 1000 + 30)

    answer = operator.get("/partition/1").text
    patch = partition._patch(site.desk, site.coordinator.states[1], "1", [decision])

    assert '<td class="num" id="l-parked">20</td>' in answer
    assert answer.count('<g class="mark">') == 2
    assert "8 to 16. many jobs &lt;script&gt;" in answer
    assert HTML not in answer
    assert 'x1="' in patch["p-workers-marks"]
    assert operator.get("/partition/9").status_code == 404


def test_workers_are_set_for_a_time_and_given_back_to_the_policy(
    site: Site, operator: Browser
) -> None:
    operator.post("/partition/2/act/scale", **{"workers": "12", "for": "1h", "reason": "sale"})
    operator.post("/partition/2/act/automatic")
    operator.post("/partition/2/act/hold")
    operator.post("/partition/2/act/release")

    asked = dict(site.coordinator.asked)
    scale = asked["SetWorkers"]
    assert (scale.partition, scale.workers, scale.ttl_s) == (2, 12, 3600)
    assert scale.reason == "sale (by ada on the page)"
    assert asked["ClearWorkers"].partition == 2
    assert asked["Hold"].partition == asked["Release"].partition == 2


def test_a_count_that_is_none_changes_nothing_and_is_explained(
    site: Site, operator: Browser
) -> None:
    operator.post("/partition/2/act/scale", **{"workers": "many", "for": "1h"})

    assert "nothing was set" in operator.note()
    assert not any(name == "SetWorkers" for name, _ in site.coordinator.asked)


# -- group ------------------------------------------------------------


def test_a_group_shows_its_progress_by_states_that_were_counted(
    site: Site, operator: Browser
) -> None:
    dead(site, 2)
    enqueue(site)

    text = operator.text("/group?key=mails")

    assert '<b id="s-dead">2</b>' in text
    assert '<b id="s-ready">1</b>' in text
    assert '<span id="g-progress">66.7%</span>' in text
    assert "<dt>Take turns here</dt><dd><span>1</span> <small>lane</small></dd>" in text
    assert operator.get("/group?key=unknown").status_code == 404


def test_a_group_is_held_configured_and_cancelled(site: Site, operator: Browser) -> None:
    enqueue(site)
    page = "/group?key=mails"

    operator.post("/group/act/hold?key=mails", page=page)
    operator.post("/group/act/configure?key=mails", page=page, max_running="3", weight="", tier="")
    operator.post("/group/act/cancel?key=mails", page=page)

    asked = dict(site.coordinator.asked)
    assert asked["Hold"].partition_key == b"mails"
    assert asked["ConfigureGroup"].max_running == 3
    assert not asked["ConfigureGroup"].HasField("weight")
    assert site.pool.group("mails").status().cancelled == 1
    assert operator.note() == "1 jobs were cancelled; 0 running ones were asked to stop."


def test_a_group_of_a_tenant_is_asked_by_both_names(site: Site, operator: Browser) -> None:
    site.pool.enqueue("send", {"to": "x"}, partition_key="k", tenant="acme")

    operator.post("/group/act/hold?key=k&tenant=acme", page="/group?key=k&tenant=acme")

    assert site.pool.group("k", tenant="acme").status().held_ms is not None
    assert "of tenant acme" in operator.text("/group?key=k&tenant=acme")


def test_groups_whose_names_look_alike_together_with_their_tenants_are_told_apart(
    site: Site, operator: Browser
) -> None:
    first, other = {"tenant": "a b", "key": "c"}, {"tenant": "a", "key": "b c"}
    enqueue(site, fail=True, **first)
    run_jobs(site.pool)
    enqueue(site, **other)

    assert "no mailbox" in operator.text(f"/group?{urlencode(first)}")
    assert "It has no dead jobs." in operator.text(f"/group?{urlencode(other)}")


def test_parts_of_a_progress_bar_fill_it(site: Site) -> None:
    dead(site, 3)
    enqueue(site)

    bars = groups.bars(site.pool.group("mails").status())

    assert sum(width for _, _, width in bars) == pytest.approx(1000)
    assert ("lost", 250.0, 750.0) in [(s, b, w) for s, b, w in bars]


# -- job ------------------------------------------------------------


def test_a_job_shows_its_payload_with_hidden_fields_and_its_traceback_as_text(
    site: Site, operator: Browser
) -> None:
    [job_id] = dead(site)

    answer = operator.get(jobs.address(job_id)).text

    assert "hunter2" not in answer
    assert "•••" in answer
    assert "Traceback" in answer
    assert HTML not in answer
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer


def test_payloads_are_shown_to_whom_the_setting_says(make_site: MakeSite) -> None:
    for setting, seen in (("everyone", True), ("operators", False), ("nobody", False)):
        site = make_site(payloads=setting)
        job_id = enqueue(site, to="somebody-else")
        text = site.browser(VIEWER).text(jobs.address(job_id))
        assert ("somebody-else" in text) is seen


def test_a_job_is_cancelled(site: Site, operator: Browser) -> None:
    job_id = enqueue(site)

    operator.post(f"/job/act/cancel?id={job_id}", page=jobs.address(job_id))

    assert site.pool.status(job_id).state is JobState.CANCELLED
    assert operator.note() == "The job is cancelled; it was ready."


def test_a_dead_job_gets_other_arguments_keeps_hidden_ones_and_runs_again(
    site: Site, operator: Browser
) -> None:
    [job_id] = dead(site)
    page = operator.text(jobs.address(job_id))
    shown = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert shown is not None
    edited = json.loads(shown[1]) | {"fail": False}

    operator.post(
        f"/job/act/edit?id={job_id}", page=jobs.address(job_id),
        payload=json.dumps(edited), run="yes",
    )  # fmt: skip

    assert jobs.look(site.desk, job_id, "").payload["password"] == "hunter2"
    assert run_jobs(site.pool).done == 1


@pytest.mark.parametrize("payload", ["{", "[1]", '{"nobody": 1}'])
def test_arguments_that_no_task_takes_change_nothing(
    site: Site, operator: Browser, payload: str
) -> None:
    [job_id] = dead(site)

    operator.post(f"/job/act/edit?id={job_id}", page=jobs.address(job_id), payload=payload)

    assert jobs.look(site.desk, job_id, "").payload["to"] == "0"
    assert operator.note() != ""


def test_an_unknown_job_is_said_to_be_unknown(operator: Browser) -> None:
    assert operator.get("/job?id=nothere").status_code == 404
    assert operator.get("/job").status_code == 400


# -- find and errors ------------------------------------------------------------


def test_jobs_are_found_by_what_stands_in_the_address(site: Site, operator: Browser) -> None:
    [job_id] = dead(site)
    other = enqueue(site, key="others")

    text = operator.text("/find?state=dead&error=mailbox")

    assert job_id in text
    assert other not in text
    assert other in operator.text("/find?key=others")
    assert "No job matches" in operator.text("/find?state=dead&task=nothing")
    assert "is not a time" in operator.text("/find?since=yesterdayish")
    assert "a state is one of" in operator.text("/find?state=odd")


@pytest.mark.parametrize(
    ("key", "named"),
    [("mails", True), ("sixteen letters!", True), ("k" * 65, False), ("é" * 40, False)],
    ids=["short", "as long as a digest", "long", "not ASCII"],
)
def test_the_link_of_a_job_has_its_key_unless_that_is_a_digest(
    site: Site, operator: Browser, key: str, named: bool
) -> None:
    [job_id] = dead(site, key=key)

    text = operator.text("/find?state=dead")

    [link] = re.findall(r'href="(/job\?id=[^"]*)"', text)
    assert link == f"/job?id={job_id}" + (f"&key={quote(key)}" if named else "")
    assert job_id in operator.text(link)


def test_a_few_words_lead_to_the_job_the_group_or_the_error(site: Site, operator: Browser) -> None:
    job_id = enqueue(site)

    def leads(words: str) -> str:
        return str(operator.get(f"/find?q={quote(words)}").headers["location"])

    assert leads(job_id) == f"/job?id={job_id}"
    assert leads("mails") == "/group?key=mails"
    assert leads("time out") == "/find?state=dead&error=time+out"


def test_errors_of_one_cause_are_one_line(site: Site, operator: Browser) -> None:
    dead(site, 3)

    text = operator.text("/errors")

    assert "3 dead and 0 retrying jobs" in text
    assert text.count("ValueError-") >= 2
    assert "No problems found" in text


@pytest.mark.parametrize(("what", "left"), [("replay", 0), ("discard", 0)])
def test_dead_jobs_that_match_are_counted_first_and_then_changed(
    site: Site, operator: Browser, what: str, left: int
) -> None:
    dead(site, 5)
    fields = {"state": "dead", "error": "mailbox", "what": what}

    preview = operator.post("/bulk", page="/errors", **fields)
    assert f"{what.capitalize()} 5 jobs?" in preview.text
    assert site.pool.inspect.count("dead") == 5

    answer = operator.post("/bulk/begin", page="/errors", **fields)
    page = answer.headers["location"]
    wait_until(lambda: ">done<" in operator.get(page).text, message="it has ended")
    assert site.pool.inspect.count("dead") == left
    assert site.pool.log()[0].what == f"dead {what}"


def test_a_bulk_act_at_a_rate_is_stopped(site: Site, operator: Browser) -> None:
    dead(site, 4)
    fields = {"state": "dead", "what": "discard", "rate": "0.01"}

    page = operator.post("/bulk/begin", page="/errors", **fields).headers["location"]
    wait_until(lambda: '<span id="k-changed">1</span>' in operator.get(page).text, message="one")
    operator.post(f"{page}/stop", page=page)

    wait_until(lambda: ">stopped<" in operator.get(page).text, message="it has stopped")
    assert site.pool.inspect.count("dead") == 3


def test_waiting_jobs_that_match_are_cancelled(site: Site, operator: Browser) -> None:
    for n in range(3):
        enqueue(site, key=f"k{n % 2}")

    fields = {"state": "ready", "key": "k0", "what": "cancel"}
    page = operator.post("/bulk/begin", page="/find", **fields).headers["location"]

    wait_until(lambda: ">done<" in operator.get(page).text, message="it has ended")
    assert site.pool.group("k0").status().cancelled == 2
    assert site.pool.group("k1").status().ready == 1


def test_delayed_jobs_are_counted_whenever_they_are_due(site: Site, operator: Browser) -> None:
    enqueue(site, delay_s=3600)

    preview = operator.post("/bulk", page="/find", state="delayed", what="cancel")

    assert "Cancel 1 job?" in preview.text


def test_what_no_bulk_act_may_do_is_refused(site: Site, operator: Browser) -> None:
    refused = operator.post("/bulk", page="/find", state="in-flight", what="discard")

    assert refused.status_code == 400
    assert "only dead jobs can be discarded" in refused.text


# -- scaling, limits, schedules, flows, system ----------------------------


def test_scaling_shows_what_holds_and_sets_it(site: Site, operator: Browser) -> None:
    text = operator.text("/scaling")
    operator.post("/scaling/set", page="/scaling", mode="hold", reason="migration")

    assert "mode auto" in text
    assert 'name="max_workers" type="number" min="1" value="32"' in text
    request = dict(site.coordinator.asked)["SetPolicy"]
    assert (dict(request.changes), request.reason) == (
        {"mode": "hold"}, "migration (by ada on the page)",
    )  # fmt: skip


def test_what_if_foretells_with_more_workers(site: Site, operator: Browser) -> None:
    site.coordinator.states[0] = state(0, backlog=10_000, service_s=1.0)
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, 1.0)

    few = operator.text("/scaling/what-if?most=8")
    many = operator.text("/scaling/what-if?most=800")

    assert "with at most 8 a partition" in few
    assert few.split("with at most")[1] != many.split("with at most")[1]


def test_limits_are_shown_set_and_paused(site: Site, operator: Browser) -> None:
    limit = limit_pb2.Limit(name="mail", set=definition_of(Limit("mail", rate=20)), wait_ms=5000)
    site.coordinator.answers["ListLimits"] = api.ListLimitsResponse(limits=[limit])

    text = operator.text("/limits")
    operator.post("/limits/act/set", limit="mail", rate="3", per="1m", concurrency="")
    operator.post("/limits/act/pause", limit="mail")
    operator.post("/limits/act/remove", limit="mail")

    assert "20/s" in text
    assert "waiting for 5.0s" in text
    asked = dict(site.coordinator.asked)
    assert (asked["SetLimit"].definition.rate, asked["SetLimit"].definition.per_s) == (3, 60)
    assert asked["PauseLimit"].paused
    assert asked["RemoveLimit"].limit == "mail"


def test_schedules_show_their_next_times_and_are_paused_run_and_removed(
    site: Site, operator: Browser
) -> None:
    site.pool.schedules.set(Schedule("often", "send", {"to": "x"}, every="10m"))

    text = operator.text("/schedules")
    operator.post("/schedules/act/run", name="often")
    operator.post("/schedules/act/pause", name="often")

    assert text.count(">in ") >= 5
    assert site.pool.inspect.count("ready") == 1
    paused = site.pool.schedules.get("often")
    assert paused is not None
    assert paused.paused_ms
    operator.post("/schedules/act/remove", name="often")
    assert site.pool.schedules.list() == []


def test_flows_are_shown_as_a_tree_and_cancelled(site: Site, operator: Browser) -> None:
    results = site.pool.enqueue_many(
        "send", [{"to": "a"}, {"to": "b"}], partition_key="flow", then=After("send", {"to": "c"})
    )
    name = results.batch.name

    assert name in operator.text("/flows")
    assert "0 of 2 done" in operator.text(f"/flow?name={name}")
    operator.post(f"/flow/cancel?name={name}", page=f"/flow?name={name}")

    assert str(site.pool.batch(name).status().state) == "cancelled"
    assert operator.get("/flow?name=nothere123456789").status_code in (400, 404)


def test_the_steps_of_a_flow_are_shown_and_cancelled(site: Site, operator: Browser) -> None:
    flow = Flow("nightly", partition_key="k").add("send", {"to": "a"}, name="first")
    handle = site.pool.enqueue_flow(flow.add("send", {"to": "b"}, name="then", after="first"))

    listed, shown = operator.text("/flows"), operator.text(f"/flow?name={handle.name}")
    assert "flow nightly" in listed
    assert handle.status().steps[0].batch not in listed
    assert all(name in shown for name in ("0 of 2 done", "first", "then", "0 of 1 done"))
    operator.post(f"/flow/cancel?name={handle.name}", page=f"/flow?name={handle.name}")

    assert [str(step.state) for step in handle.status().steps] == ["cancelled", "cancelled"]


def test_the_system_shows_servers_owners_settings_and_acts_but_no_secret(
    site: Site, operator: Browser
) -> None:
    operator.post("/pause", reason="a reason")

    text = operator.text("/system")

    assert "reachable" in text
    assert "QUEUEPOOL_WEB_TOKEN" in text
    assert OPERATOR not in text
    assert "a reason" in text


@pytest.mark.parametrize("path", [
    "/", "/groups", "/group?key=mails", "/find", "/find?state=dead", "/errors", "/scaling",
    "/limits", "/schedules", "/flows", "/log", "/system", "/partition/0",
])  # fmt: skip
def test_no_page_lets_text_of_others_become_html_and_viewers_see_no_acts(
    site: Site, path: str
) -> None:
    dead(site)
    enqueue(site, key=f"{HTML}")
    viewer = site.browser(VIEWER)

    answer = viewer.get(path)

    assert answer.status_code == 200
    assert HTML not in answer.text
    assert re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', answer.text) == ["/logout"]


def test_every_act_is_refused_to_viewers(site: Site) -> None:
    viewer = site.browser(VIEWER)
    app: Any = site.page.guard._app
    paths = {
        route.path for route in app.routes if "POST" in (getattr(route, "methods", None) or ())
    }

    assert len(paths) > 12
    for path in paths - {"/login", "/logout"}:
        there = re.sub(r"{\w+(:int)?}", "1", path)
        assert viewer.post(there).status_code == 403, path
    assert site.coordinator.asked == [] or all(
        not name.startswith(("Set", "Hold", "Release", "Clear", "Configure", "Pause", "Remove"))
        for name, _ in site.coordinator.asked
    )
