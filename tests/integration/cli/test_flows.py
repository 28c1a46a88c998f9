"""`queuepool flow` against a real server."""

from __future__ import annotations

from queuepool import After, BatchState, Flow, QueuePool
from queuepool.cli.exits import Exit
from tests.shell import Shell


def _enqueue(pool: QueuePool, task: str = "publish", **after: object) -> str:
    then = After(task, {"album": 7}, **after)  # type: ignore[arg-type]
    rows = [{"photo": n} for n in range(3)]
    return str(pool.enqueue_many("resize", rows, partition_key="album-7", then=then).batch.name)


def test_batches_are_listed_and_shown(shell: Shell, pool: QueuePool) -> None:
    assert shell.run("flow", "list") == Exit.OK
    assert shell.out == "no batches\n"
    name, other = _enqueue(pool), _enqueue(pool, "sum", on_failure="wait", deadline_s=60)

    assert shell.run("flow", "list") == Exit.OK
    for text in (name, other, "publish", "sum", "open"):
        assert text in shell.out
    first, second = shell.json("flow", "list")
    assert [first["name"], second["name"]] == [other, name]
    assert (first["total"], first["done"]) == (3, 0)
    assert shell.run("flow", "list", "--limit", "1") == Exit.OK
    assert "1 more; see --limit" in shell.out
    assert shell.run("flow", "show", name) == Exit.OK
    assert "0 of 3 jobs done, 3 left" in shell.out
    assert "when its continuation dies" in shell.out
    assert shell.run("flow", "show", other) == Exit.OK
    assert "when its continuation runs with the results so far" in shell.out
    (shown,) = shell.json("flow", "show", name)
    assert (shown["state"], shown["left"], shown["inner"]) == ("open", 3, [])


def test_a_batch_is_cancelled(shell: Shell, pool: QueuePool) -> None:
    name = _enqueue(pool)

    assert shell.run("flow", "cancel", name) == Exit.OK

    assert shell.out == f"batch {name} is cancelled; 3 jobs were cancelled or asked to stop\n"
    assert pool.batch(name).status().state is BatchState.CANCELLED
    assert shell.run("flow", "show", name) == Exit.OK
    assert "concluded" in shell.out
    (told,) = shell.json("flow", "cancel", name)
    assert told == {"batch": name, "state": "cancelled", "jobs": 0}


def test_the_steps_of_a_flow_are_shown_and_cancelled(shell: Shell, pool: QueuePool) -> None:
    flow = Flow("nightly", flow_id="monday", partition_key="night")
    flow.add("extract").add("load", after=["extract"]).add("report", after=["extract", "load"])
    handle = pool.enqueue_flow(flow)

    assert shell.run("flow", "list") == Exit.OK
    assert "flow nightly" in shell.out
    [line] = shell.json("flow", "list")
    assert (line["name"], line["total"], line["part"]) == (handle.name, 3, "f")
    assert shell.run("flow", "show", handle.name) == Exit.OK
    first, *rows = shell.out.splitlines()
    assert first == f"nightly/monday  running  {handle.name}"
    assert [row.split()[:2] for row in rows[-3:]] == [
        ["extract", "running"],
        ["load", "waiting"],
        ["report", "waiting"],
    ]
    assert "extract, load" in rows[-1]
    (shown,) = shell.json("flow", "show", handle.status().steps[0].batch)
    assert (shown["state"], shown["steps"][2]["after"]) == ("running", ["extract", "load"])

    assert shell.run("flow", "cancel", handle.name) == Exit.OK
    assert shell.out.startswith(f"batch {handle.name} is cancelled; 3 jobs were")
    assert shell.run("flow", "show", handle.name) == Exit.OK
    assert shell.out.count("cancelled") == 4


def test_what_is_wrong_is_said_in_a_line(shell: Shell) -> None:
    for words, message in (
        (("flow", "show", "AAbbbbbbbbbbbb"), "there is no batch AAbbbbbbbbbbbb"),
        (("flow", "cancel", "AAbbbbbbbbbbbb"), "there is no batch AAbbbbbbbbbbbb"),
        (("flow", "show", "a b"), "'a b' is not a batch"),
    ):
        assert shell.run(*words) in (Exit.USAGE, Exit.FAILED), words
        assert message in shell.err, shell.err
