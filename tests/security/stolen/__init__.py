"""What a stolen credential can do: the rows of docs/security.md, and how each of them is tried.

action.py    what a row is
actions.py   the rows about users of a server: who may, and by which commands
strains.py   those about its time and memory
callers.py   the rows about the coordinator's API and metrics
scene.py     a server with something to steal, and honest eyes on it
page.py      the rows as tables of the page: `python -m tests.security.stolen.page` writes them
"""
