"""One job: every attempt, its payload, why it failed, what it returned."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from queuepool.errors import UndecodableError
from queuepool.errors.escaping import key_bytes_of
from queuepool.models import JobState, JobStatus
from queuepool.models.history import PastRun
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.protocol import codec
from queuepool.verbs import Verb
from queuepool.verbs.producer import verbs as produce
from queuepool.web.desk import Desk, RefusedError, fields
from queuepool.web.drawing import words
from queuepool.web.drawing.masking import masked, unmasked

_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")  # traceparent
_AT = {JobState.DELAYED: "due", JobState.IN_FLIGHT: "started", JobState.DEAD: "died"}


@dataclass(frozen=True, slots=True)
class Known:
    """Everything known of a job. payload: None if it cannot be read, or has ended."""

    status: JobStatus
    runs: list[PastRun]
    payload: Any
    trace: str | None


def routes(desk: Desk) -> list[Route]:
    """Return the addresses of this page."""

    async def show(request: Request) -> Response:
        job_id, key = _asked(request)
        known = await desk.off_loop(lambda: look(desk, job_id, key))
        if known.status.state is JobState.UNKNOWN and not known.runs:
            raise HTTPException(
                404,
                f"job {words.clean(job_id, 100)} is unknown: it ended some time ago, or never "
                f"existed",
            )
        return desk.page(request, "job.html", **_shown(desk, request, known, key))

    async def act(request: Request) -> Response:
        job_id, key = _asked(request)
        do = _ACTS.get(request.path_params["what"])
        if do is None:
            raise HTTPException(404, "there is no such action")
        asked, may_see = fields(request), may_see_payloads(desk, request)
        return await desk.act(
            request, f"job {request.path_params['what']}", f"job {job_id}",
            lambda: do(desk, job_id, key, asked, may_see), address(job_id, key),
        )  # fmt: skip

    return [
        Route("/job", show),
        Route("/job/act/{what}", act, methods=["POST"]),
    ]


def _asked(request: Request) -> tuple[str, str]:
    job_id = request.query_params.get("id", "")
    if not job_id:
        raise HTTPException(400, "name the job: ?id=...")
    return job_id, request.query_params.get("key", "")


def address(job_id: str, key: str = "") -> str:
    """Return the address of a job's page."""
    return "/job?" + urlencode({"id": job_id} | ({"key": key} if key else {}))


def may_see_payloads(desk: Desk, request: Request) -> bool:
    """Return whether this user sees payloads, results and tracebacks."""
    who = desk.settings.payloads
    return who == "everyone" or (who == "operators" and request.state.user.may_act)


def look(desk: Desk, job_id: str, key: str) -> Known:
    """Return everything that is known of a job. Raises QueuePoolError."""
    pool, at = desk.source.reads, key_bytes_of(key) if key else None
    status = pool.status(job_id, partition_key=at)
    runs = pool.inspect.history(job_id, partition_key=at)
    payload, trace = None, None
    if status.task is not None:  # it is stored
        place = pool.partition(status.partition, status.pool or DEFAULT_POOL)
        reading = produce.status(job_id, status.partition)
        body = place.run(Verb(reading.script, reading.args, lambda reply: bytes(reply[1])))
        try:
            envelope = codec.decode_envelope(body)
            payload, trace = envelope.payload, envelope.options.trace
        except UndecodableError:
            pass
    return Known(status, runs, payload, trace)


def trace_link(url: str, trace: str | None) -> str:
    """Return where the trace of a job is seen; "" if that is not known."""
    found = _TRACE.fullmatch(trace or "")
    return url.replace("{trace_id}", found[1]) if url and found else ""


def _shown(desk: Desk, request: Request, known: Known, key: str) -> dict[str, Any]:
    status, may_see = known.status, may_see_payloads(desk, request)
    hidden = masked(known.payload, desk.masked)
    return {
        "status": status,
        "runs": known.runs,
        "key": words.key(status.group),
        "tenant": words.tenant(status.group),
        "place": place_text(status.partition, status.pool or DEFAULT_POOL),
        "at": _AT.get(status.state, "since"),
        "tier": None if status.tier is None else status.tier.name.lower(),
        "may_see": may_see,
        "payload": None if known.payload is None else words.as_json(hidden),
        "is_masked": hidden != known.payload,
        "result": None
        if status.result is None
        else words.as_json(masked(status.result, desk.masked)),
        "trace": known.trace,
        "trace_link": trace_link(desk.settings.trace_url, known.trace),
        "address": address(status.job_id, key),
        "waits": status.state in (JobState.READY, JobState.DELAYED, JobState.PARKED),
        "may_run": status.state in (JobState.DELAYED, JobState.DEAD),
        "may_edit": known.payload is not None
        and status.state is not JobState.IN_FLIGHT
        and may_see,
    }


# -- acts ------------------------------------------------------------------------------------------


def _at(key: str) -> bytes | None:
    return key_bytes_of(key) if key else None


def _cancel(desk: Desk, job_id: str, key: str, _asked: Any, _may_see: bool) -> str:
    was = desk.source.pool.cancel(job_id, partition_key=_at(key))
    if was is JobState.IN_FLIGHT:
        return "It is running; its handler was asked to stop."
    if was in (JobState.READY, JobState.PARKED, JobState.DELAYED):
        return f"The job is cancelled; it was {was}."
    raise RefusedError(f"the job is {was}: there is nothing to cancel")


def _run(desk: Desk, job_id: str, key: str, _asked: Any, _may_see: bool) -> str:
    was = desk.source.pool.inspect.run(job_id, partition_key=_at(key))
    due = was in (JobState.DELAYED, JobState.DEAD)
    return f"It was {was}{' and is due now' if due else ', so nothing changed'}."


def _edit(desk: Desk, job_id: str, key: str, asked: Any, may_see: bool) -> str:
    if not may_see:
        raise RefusedError("payloads are not shown here, so they cannot be edited")
    try:
        edited = json.loads(asked.get("payload", ""))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"nothing was changed: the payload is not JSON: {error}") from None
    if not isinstance(edited, dict):
        raise RefusedError("nothing was changed: a payload is an object of arguments")
    before = look(desk, job_id, key).payload
    inspect = desk.source.pool.inspect
    was = inspect.edit(job_id, unmasked(edited, before, desk.masked), partition_key=_at(key))
    if asked.get("run") == "yes":
        inspect.run(job_id, partition_key=_at(key))
        return f"The job was {was}, has its new arguments, and is due now."
    return f"The job is {was}, with its new arguments."


_ACTS = {"cancel": _cancel, "run": _run, "edit": _edit}
