"""The table in this package's docstring names tests that exist, and every file of them."""

import re
from pathlib import Path

from tests import bad_inputs

HERE = Path(__file__).parent
NAMED = re.findall(r"^    (\S+\.py)::(\w+)$", bad_inputs.__doc__ or "", re.MULTILINE)


def test_every_test_that_is_named_exists() -> None:
    missing = [
        f"{path}::{name}"
        for path, name in NAMED
        if not re.search(rf"^def {name}\(", (HERE / path).read_text(), re.MULTILINE)
    ]

    assert len(NAMED) > 40
    assert missing == []


def test_every_file_of_tests_is_in_the_table() -> None:
    files = {path.name for path in HERE.glob("test_*.py")} - {Path(__file__).name}

    assert files <= {path for path, _ in NAMED}
