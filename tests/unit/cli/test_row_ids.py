"""Ids of rows: what they depend on."""

from pathlib import Path

import pytest

from queuepool.cli.rows import row_ids
from queuepool.cli.rows.rows import RowError
from queuepool.routing.slots import slot_of

KEY = b"import-1"


def test_a_row_without_an_id_is_named_by_its_line() -> None:
    with pytest.raises(RowError, match="line 7"):
        row_ids.by_column("id", row_ids.Target("t", b"k", 0))(7, {"id": True})


def test_ids_without_a_tenant_are_those_of_earlier_versions(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("id\n4711\n")
    target = row_ids.Target("t", KEY, slot_of(KEY))
    row = {"id": "4711"}

    ids = [
        row_ids.by_column("id", target)(2, row),
        row_ids.by_file(str(file), target)(2, row),
        row_ids.by_stream(target)(2, row),
    ]

    assert ids == ["Qhgjkx2cCTklYQ", "QhuoRJefk6CoN6", "QhezH_AB_h4Z2n"]


def test_a_value_that_looks_like_a_tenant_makes_no_id_of_one() -> None:
    def of(value: str, tenant: bytes) -> str | None:
        return row_ids.by_column("id", row_ids.Target("t", b"k", 0, tenant))(2, {"id": value})

    assert of("7", b"acme") not in {of("4:acme7", b""), of("7", b""), of("7", b"other")}
