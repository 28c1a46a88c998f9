"""The route record changes by one version after another, and a repeated call changes it once."""

from typing import TypeVar

from queuepool.models import RouteRecord
from queuepool.verbs import Verb
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.producer import route
from tests.contract.world import World

T = TypeVar("T")


def ask(world: World, verb: Verb[T]) -> T:
    """Run a verb on what the system shares."""
    return verb.read(world.partition.server.run(world.system, [verb])[0])


def look(world: World) -> RouteRecord:
    found = ask(world, route.look(world.system))
    assert found is not None
    return found


def test_what_is_not_there_is_not_changed(world: World) -> None:
    assert ask(world, operate.change_route(0, "a", {"legacy": ""})) == (False, 0)
    assert ask(world, route.look(world.system)) is None


def test_a_record_of_a_queue_without_partitions_changes_by_versions(world: World) -> None:
    first = ask(world, route.record(4, "mod", "open", "0-4095"))
    assert first is not None
    assert (first.version, first.migration, first.legacy) == (2, "open", "0-4095")

    assert ask(world, operate.change_route(2, "a", {"legacy": "9-4095"})) == (True, 3)
    assert ask(world, operate.change_route(2, "a", {"legacy": "9-4095"})) == (True, 3), "repeated"
    assert ask(world, operate.change_route(2, "b", {"legacy": "8-4095"})) == (False, 3)

    found = look(world)
    assert (found.version, found.partitions, found.legacy) == (3, 4, "9-4095")
    assert found.created_ms == first.created_ms

    assert ask(world, operate.change_route(3, "c", {"migration": "sealed", "legacy": ""})) == (
        True,
        4,
    )
    assert (look(world).migration, look(world).legacy) == ("sealed", "")


def test_a_record_that_was_lost_is_restored_as_it_was(world: World) -> None:
    known = RouteRecord(
        version=3, partitions=4, layout="mod", created_ms=0, migration="open", legacy="5"
    )

    ask(world, route.restore(known))

    assert (look(world).version, look(world).migration, look(world).legacy) == (3, "open", "5")
