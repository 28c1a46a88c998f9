"""What the import rules and size limits cannot see by themselves."""

import subprocess
import sys
from pathlib import Path

from tools.sizes import problems


def test_the_library_imports_without_grpc() -> None:
    code = (
        "import sys; sys.modules.update({'grpc': None, 'google.protobuf': None});"
        "import queuepool, queuepool.process.embedded"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 0, done.stderr


def test_a_file_beyond_its_limit_is_an_error_and_a_large_one_a_warning(tmp_path: Path) -> None:
    for name, lines in {
        "queuepool/fits.py": 300,
        "queuepool/large.py": 301,
        "queuepool/too_large.py": 401,
        "queuepool/rpc/v1/generated_pb2.py": 900,
        "tests/test_fits.py": 500,
        "tests/test_too_large.py": 501,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n" * lines)

    found = [(severity, text.partition(":")[0]) for severity, text in problems(tmp_path)]

    assert found == [
        ("warning", "queuepool/large.py"),
        ("error", "queuepool/too_large.py"),
        ("error", "tests/test_too_large.py"),
    ]


def test_a_script_is_measured_without_its_contract(tmp_path: Path) -> None:
    scripts = tmp_path / "queuepool" / "scripts"
    scripts.mkdir(parents=True)
    contract = "#!lua flags=allow-oom\n-- what it does\n\n"
    (scripts / "fits.lua").write_text(contract * 50 + "local a = 1 -- why\n" * 120)
    (scripts / "too_long.lua").write_text(contract + "local a = 1\n" * 121)

    found = [(severity, text.partition(":")[0]) for severity, text in problems(tmp_path)]

    assert found == [("error", "queuepool/scripts/too_long.lua")]


def test_a_line_of_lua_has_at_most_100_columns(tmp_path: Path) -> None:
    verbs = tmp_path / "queuepool" / "verbs"
    verbs.mkdir(parents=True)
    (verbs / "fits.lua").write_text("#!lua\n" + "-" * 100 + "\n")
    (verbs / "too_wide.lua").write_text("#!lua\n" + "-" * 101 + "\n")

    assert [text for _, text in problems(tmp_path)] == [
        "queuepool/verbs/too_wide.lua:2: more than 100 columns"
    ]


def test_a_function_of_the_product_beyond_its_limit_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "queuepool").mkdir()
    (tmp_path / "tests").mkdir()
    for name, lines in {"queuepool/fits": 40, "queuepool/long": 41, "tests/test_long": 41}.items():
        body = "    x = 1\n" * (lines - 1)
        (tmp_path / f"{name}.py").write_text(f"def run():\n{body}")

    assert list(problems(tmp_path)) == [
        ("error", "queuepool/long.py: run has 41 lines, at most 40")
    ]
