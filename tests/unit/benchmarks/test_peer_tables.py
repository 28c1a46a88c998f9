"""What the comparison with other queues shows: medians, records with holes, exact pins."""

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import summary
from benchmarks.peers.adapters.harness import ENDED, RECORD, STARTED, Order, payload_of
from benchmarks.peers.catalog import CATALOG, SPEED
from benchmarks.peers.envs import folder_name, read_pins
from benchmarks.peers.records import Records
from benchmarks.peers.trials import TRIALS


def a_document(**peers: dict[str, list[float | None]]) -> dict[str, Any]:
    return {
        "machine": {"cores": 2, "system": "Linux", "python": "3.11", "server": "redis 7.0"},
        "date": "2030-01-02",
        "commands": ["python -m benchmarks.peers"],
        "runs": 3,
        "scale": 1.0,
        "window_s": 150.0,
        "peers": {
            name: {
                "title": name,
                "versions": {name: "1.2"},
                "settings": f"settings of {name}",
                "figures": figures,
                "foreign_cores": [0.1, 0.25],
            }
            for name, figures in peers.items()
        },
    }


def test_a_row_shows_the_median_of_the_runs() -> None:
    document = a_document(one={"drain_per_s": [900.0, 1500.0, 1234.4]}, two={"missing": [0.0]})

    table = summary.speed_table(document).splitlines()

    assert len(table) == 3  # nothing of the one that was only crashed
    assert "| 1,234 / - |" in table[2]


def test_a_figure_that_one_run_could_not_take_is_a_dash() -> None:
    assert summary.middle([1.0, None, 3.0]) is None
    assert summary.middle([]) is None
    assert summary.shown(None) == "-"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (2.0, "2"), (0.0123, "0.0123"), (1.235, "1.24"), (99.7, "100"), (12345.6, "12,346")],
)
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert summary.shown(value) == text


def test_a_crash_shows_the_range_and_what_never_recovered() -> None:
    document = a_document(
        late={
            "running_at_kill": [8.0] * 3,
            "missing": [0.0, 3.0, 1.0],
            "ran_twice": [2.0] * 3,
            "recovered_s": [None, None, 9.5],
        }
    )

    row = summary.crash_table(document).splitlines()[2]

    assert (
        row == "| late (late 1.2) | 8 | 1 (0 to 3) | 2 | 9.50 in 1 of 3 runs | settings of late |"
    )
    assert "150 s later" in summary.crash_text(document)


def test_the_frame_tells_machine_foreign_load_and_command() -> None:
    frame = summary.frame(a_document(one={}))

    assert "2 cores" in frame
    assert "redis 7.0" in frame
    assert "up to 0.25 cores" in frame
    assert "`python -m benchmarks.peers`" in frame


def test_records_are_found_behind_holes_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / "1.records"
    slots = bytearray(RECORD.size * 1000)

    def put(slot: int) -> None:
        RECORD.pack_into(slots, slot * RECORD.size, 1, 2, 3, slot, 0, 1)
        path.write_bytes(slots)

    records = Records(tmp_path)
    put(0)
    put(2)  # another thread was faster than the one of slot 1
    assert records.poll() == 2
    put(1)
    put(200)
    assert records.poll() == 4
    assert records.poll() == 4
    assert records.ids() == {0, 1, 2, 200}


def test_a_start_is_not_an_end(tmp_path: Path) -> None:
    started, ended = RECORD.pack(1, 2, 0, 7, 0, STARTED), RECORD.pack(1, 2, 3, 7, 0, ENDED)
    (tmp_path / "1.records").write_bytes(started + ended + started)

    records = Records(tmp_path)

    assert records.poll() == 1
    assert records.starts == 2


def test_a_record_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    whole = RECORD.pack(1, 2, 3, 7, 0, 1)
    (tmp_path / "1.records").write_bytes(whole + whole[:-1])

    records = Records(tmp_path)

    assert records.poll() == 1


def test_every_hundred_jobs_have_a_tenant_unless_one_is_named() -> None:
    tenants = {payload_of(Order(jobs=300), i)["tenant"] for i in range(300)}

    assert len(tenants) == 3
    assert payload_of(Order(jobs=1, tenant="B"), 7)["tenant"] == "B"


def test_pins_are_exact_and_every_peer_has_an_environment() -> None:
    pins = read_pins()

    for (kind, _), packages in pins.items():
        pattern = r"[\w.-]+==[\w.]+" if kind == "python" else r"(@[\w-]+/)?[\w-]+@\d[\w.]*"
        assert [p for p in packages if not re.fullmatch(pattern, p)] == []
    for name, entry in CATALOG.items():
        assert entry.env is None or entry.env in pins, name
        assert set(entry.trials) <= set(TRIALS), name
    assert set(SPEED) | {"crash"} == set(TRIALS)


def test_an_environment_is_made_anew_when_a_pin_changes() -> None:
    before = folder_name("python", "rq", ("rq==1", "redis==2"))

    assert before == folder_name("python", "rq", ("rq==1", "redis==2"))
    assert before != folder_name("python", "rq", ("rq==1", "redis==3"))
