"""Where the parts of a spread group go, what they are called, and what each may run."""

from __future__ import annotations

import pytest

from queuepool.errors import InvalidInputError
from queuepool.models.jobs import group_text
from queuepool.models.tenants import is_part, key_in, tenant_of
from queuepool.routing.slots import MAX_GROUP_BYTES, SLOTS, group_of, slot_of
from queuepool.routing.spreading import (
    MOST_PARTS,
    check_spread,
    part_of_group,
    part_of_job,
    shares,
    slot_of_part,
)

KEYS = [b"import-%d" % n for n in range(200)]


def slots(key: bytes, parts: int) -> list[int]:
    return [slot_of_part(slot_of(key), group_of(key), part) for part in range(parts)]


@pytest.mark.parametrize("partitions", [2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 16, 64])
def test_parts_are_in_different_partitions_where_there_are_as_many(partitions: int) -> None:
    for key in KEYS:
        found = slots(key, partitions)

        assert found[0] == slot_of(key)
        assert len({slot % partitions for slot in found}) == partitions


def test_part_n_stays_where_it_is_when_a_group_is_spread_over_more() -> None:
    assert slots(b"import-7", MOST_PARTS)[:4] == slots(b"import-7", 4)
    assert len(set(slots(b"import-7", MOST_PARTS))) == MOST_PARTS
    assert max(slots(b"import-7", MOST_PARTS)) < SLOTS


def test_two_groups_rarely_share_all_of_their_slots() -> None:
    taken = [frozenset(slots(key, 4)) for key in KEYS]

    assert len(set(taken)) > 0.95 * len(KEYS)
    partitions = {frozenset(slot % 16 for slot in one) for one in taken}
    assert len(partitions) > 50


@pytest.mark.parametrize("tenant", [b"", b"acme"])
@pytest.mark.parametrize("key", [b"k", b"x" * 60, b"y" * 64, b"z" * 300, b"\xff\xff\xff\x01k"])
def test_a_part_has_a_name_of_its_own_that_no_key_has(tenant: bytes, key: bytes) -> None:
    group = group_of(key, tenant)
    names = [part_of_group(group, part) for part in range(MOST_PARTS)]

    assert names[0] == group
    assert not is_part(group)
    assert len(set(names)) == MOST_PARTS
    for name in names[1:]:
        assert len(name) <= MAX_GROUP_BYTES
        assert is_part(name)
        assert tenant_of(name) == (tenant or None)
        assert group_of(name) != name
        if len(group) + 4 <= MAX_GROUP_BYTES:
            assert key_in(name) == key_in(group)


def test_people_see_the_key_of_the_group() -> None:
    assert group_text(part_of_group(b"import-7", 3)) == "import-7"
    assert group_text(part_of_group(group_of(b"import-7", b"acme"), 3)) == "acme:import-7"


def test_an_id_belongs_to_the_same_part_each_time() -> None:
    found = [part_of_job(b"row-%d" % n, 4) for n in range(400)]

    assert found == [part_of_job(b"row-%d" % n, 4) for n in range(400)]
    assert all(60 < found.count(part) < 140 for part in range(4))


def test_what_a_group_may_run_is_shared_out() -> None:
    assert shares(10, 4) == [3, 3, 2, 2]
    assert shares(0, 3) == [0, 0, 0]


@pytest.mark.parametrize("spread", [0, -1, 65, True, 2.0, "4", None])
def test_other_spreads_are_refused(spread: object) -> None:
    with pytest.raises(InvalidInputError, match="use 2 to 64 slots"):
        check_spread(spread)
