"""Write the tables of docs/security.md from what the tests try.

Run: `python -m tests.security.stolen.page`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from queuepool.verbs.acl import ROLES
from tests.security.stolen.action import Action
from tests.security.stolen.actions import SECTIONS
from tests.security.stolen.callers import CALLERS, WISHES, Wish
from tests.security.stolen.neighbours import ATTEMPTS, NEIGHBOUR, Attempt
from tests.security.stolen.strains import STRAINS, Strain
from tools.tables import DOCS, markdown, replaced

Row = Action | Strain | Wish | Attempt
PAGE = DOCS / "security.md"


def table(rows: Iterable[Row], columns: Iterable[str]) -> str:
    """Return rows as a table of who may."""
    columns = list(columns)
    cells = ([row.name, *("may" if c in row.may else "no" for c in columns)] for row in rows)
    return markdown(["", *columns], cells)


def filled(page: str) -> str:
    """Return the page with its tables as the tests try them."""
    users: list[Row] = [*chain.from_iterable(SECTIONS.values()), *STRAINS]
    page = replaced(page, "stolen users", table(users, ROLES))
    page = replaced(page, "neighbours", table(ATTEMPTS, [NEIGHBOUR]))
    return replaced(page, "stolen tokens", table(WISHES, CALLERS))


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
