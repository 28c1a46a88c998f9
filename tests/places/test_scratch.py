"""The scratch copy is one of its own: what is changed there is run there, and nowhere else."""

from functools import partial
from pathlib import Path

from tests.paths import ROOT
from tests.places.scratch import Outcome, Place, Scratch, passes_whole, refuses_without


def test_a_copy_imports_its_own_packages(tmp_path: Path) -> None:
    scratch = Scratch.copied_to(tmp_path)
    before = (ROOT / "queuepool" / "__init__.py").read_text()

    scratch.replace("queuepool/models/release.py", '__version__ = "', '__version__ = "copied-')
    outcome = scratch.run("-c", "import queuepool; print(queuepool.__version__)")

    assert outcome.ok, outcome.output
    assert outcome.output.startswith("copied-")
    assert (ROOT / "queuepool" / "__init__.py").read_text() == before


def test_a_recipe_needs_each_of_its_places(tmp_path: Path) -> None:
    names = ("one", "two")
    recipe = [Place(name, partial(Scratch.write, path=name, text="")) for name in names]
    checks = [partial(_has, name=name) for name in names]

    passes_whole(recipe, checks, tmp_path / "whole")
    for name in names:
        refuses_without(name, recipe, checks, tmp_path / name)


def _has(scratch: Scratch, *, name: str) -> Outcome:
    return scratch.run("-c", f"open({name!r})")
