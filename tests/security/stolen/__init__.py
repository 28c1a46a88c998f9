"""What a stolen credential can do: the rows of docs/security.md, and how each of them is tried.

actions.py   the rows, as data: who may, and by which commands
scene.py     a server with something to steal, and honest eyes on it
page.py      the rows as tables of the page: `python -m tests.security.stolen.page --write`
"""
