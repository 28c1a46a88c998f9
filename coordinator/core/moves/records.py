"""What the steps of a move change in the route record. Pure.

begun    there are the partitions, or the new places of partitions, that slots go to
landed   slots are where they were carried
over     only what is needed is left: of a move to other servers, each partition is at its new
         place, which is a partition's own from then on; or back, and there are no new places
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from queuepool.models import RouteRecord
from queuepool.models.places import NEW_PLACE, partition_at
from queuepool.routing.moves import Move, Stage, is_plain, table_of
from queuepool.routing.ranges import slots_text
from queuepool.routing.views import MOD, TABLE, View, table_text

Fields = dict[str, str]


def named(move: Move) -> set[str]:
    """Return the servers that a move names."""
    placed_at = {rule.partition("=")[2].strip() for rule in move.servers.split(",") if rule}
    return placed_at | set(move.to.values())


def begun(record: RouteRecord, view: View, move: Move) -> Fields:
    """Return what changes when a move begins."""
    fields = {"homes": str(record.homes or record.partitions)}
    if move.to:
        return fields | {"leaving": placed(move.to), "arrived": ""}
    if move.servers:
        fields["servers"] = move.servers
    table = table_text(table_of(view))
    return fields | {"partitions": str(move.largest), "layout": TABLE, "slots": table}


def landed(view: View, move: Move, slots: Set[int], dest: int, *, former: str) -> Fields:
    """Return what changes when slots have arrived at a place. former: where slots were lately."""
    fields = {"moving": "", "former": former}
    if move.to:
        there = slots if dest >= NEW_PLACE else frozenset[int]()
        return fields | {"arrived": slots_text((view.arrived - slots) | there)}
    table = list(view.table_of_homes())
    for slot in slots:
        table[slot] = partition_at(dest)
    return fields | {"slots": table_text(table)}


def over(view: View, move: Move) -> Fields:
    """Return what changes when every slot is at its goal."""
    if not move.to:
        plain = is_plain(move.table(), move.partitions)
        count, layout = str(move.partitions), MOD if plain else TABLE
        return {"partitions": count, "layout": layout, "slots": "" if plain else move.goal}
    fields = {"leaving": "", "arrived": ""}
    if move.stage is Stage.ABORTING:
        return fields
    before = dict(enumerate((*view.placement, *view.retired)))
    homes = view.record.homes if view.record is not None else 0
    firsts = {n: before[n] for n in move.to if n < homes} | dict(view.firsts)
    return fields | {"servers": placed(before | move.to), "firsts": placed(firsts)}


def placed(servers: Mapping[int, str]) -> str:
    """Return partitions and their servers as a record has them."""
    return ",".join(f"{number}={servers[number]}" for number in sorted(servers))
