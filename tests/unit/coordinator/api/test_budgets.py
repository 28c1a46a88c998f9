"""Places for calls: bounded in all and for each holder; of strangers, the newest has one."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator.api.budgets import Place, Places, YieldingPlaces

HOLDERS = st.sampled_from("abcdef")


@given(st.lists(st.tuples(HOLDERS, st.booleans()), max_size=100))
def test_no_holder_has_more_than_its_share_and_all_together_no_more_than_there_are(
    steps: list[tuple[str, bool]],
) -> None:
    places, held = Places(most=7, most_each=3), list[str]()

    for holder, leaves in steps:
        if leaves and holder in held:
            held.remove(holder)
            places.leave(holder)
        elif not leaves:
            room = len(held) < 7 and held.count(holder) < 3
            assert places.take(holder) is room
            held += [holder] * room

    assert places.taken == len(held) <= 7


@given(st.lists(st.tuples(HOLDERS, st.booleans()), max_size=100))
def test_a_newcomer_always_has_a_place_and_what_was_taken_away_is_told_once(
    steps: list[tuple[str, bool]],
) -> None:
    places, kept, told = YieldingPlaces(most=7, most_each=3), list[Place](), list[int]()

    for holder, leaves in steps:
        if leaves:
            for place in [p for p in kept if p.holder == holder][:1]:
                places.leave(place)
                kept.remove(place)
            continue
        told.clear()
        place = places.take(holder, lambda: told.append(1))
        gone = [p for p in kept if p.lost]
        assert len(gone) == len(told) <= 1
        kept = [*(p for p in kept if not p.lost), place]

    assert places.taken == len(kept) <= 7
    for each in kept * 2:  # the second time is harmless
        places.leave(each)
    assert places.taken == 0


def test_when_all_are_taken_whoever_holds_most_loses_its_oldest() -> None:
    places = YieldingPlaces(most=5, most_each=4)
    honest = places.take("honest", lambda: None)
    greedy = [places.take("greedy", lambda: None) for _ in range(4)]

    places.take("newcomer", lambda: None)

    assert not honest.lost
    assert [place.lost for place in greedy] == [True, False, False, False]


def test_a_holder_at_its_share_loses_its_own_oldest() -> None:
    places = YieldingPlaces(most=10, most_each=2)
    other = places.take("other", lambda: None)
    mine = [places.take("me", lambda: None) for _ in range(3)]

    assert [place.lost for place in (other, *mine)] == [False, True, False, False]
