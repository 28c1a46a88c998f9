"""How much of a machine is in use, as files of Linux say, whatever they say."""

from pathlib import Path

import pytest

from consumer.loop.machine import Machine


class Files:
    """A machine of files, and its clock."""

    def __init__(self, root: Path) -> None:
        self.root, self.now_s = root, 0.0

    def write(self, **texts: str) -> None:
        places = {
            "stat": "proc/stat", "meminfo": "proc/meminfo", "cpu": "sys/fs/cgroup/cpu.stat",
            "quota": "sys/fs/cgroup/cpu.max", "most": "sys/fs/cgroup/memory.max",
            "current": "sys/fs/cgroup/memory.current", "memory": "sys/fs/cgroup/memory.stat",
        }  # fmt: skip
        for name, text in texts.items():
            path = self.root / places[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def busy(self, ticks: int, idle: int) -> None:
        self.write(stat=f"cpu  {ticks} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 1\n")

    def machine(self) -> Machine:
        return Machine(self.root, lambda: self.now_s)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_where_nothing_can_be_read_nothing_is_reported(files: Files) -> None:
    machine = files.machine()
    files.now_s = 1.0

    assert machine.load() == ":"


def test_the_machine_itself(files: Files) -> None:
    files.busy(100, 900)
    files.write(meminfo="MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 370 kB\n")
    machine = files.machine()
    files.now_s = 1.0
    files.busy(175, 925)

    assert machine.load() == "75:63"


def test_a_container_that_is_nearer_to_its_limits(files: Files) -> None:
    files.busy(100, 900)
    files.write(
        meminfo="MemTotal: 1000 kB\nMemAvailable: 900 kB\n",
        cpu="usage_usec 1000000\nuser_usec 1\n", quota="50000 100000\n",
        most="1000\n", current="900\n", memory="anon 1\ninactive_file 100\n",
    )  # fmt: skip
    machine = files.machine()
    files.now_s = 2.0
    files.busy(110, 990)
    files.write(cpu="usage_usec 1900000\n")

    assert machine.load() == "90:80"  # 0.9 s of 2 s x half a core; 800 of 1,000


def test_without_limits_a_container_is_the_machine(files: Files) -> None:
    files.busy(0, 0)
    files.write(
        meminfo="MemTotal: 1000 kB\nMemAvailable: 900 kB\n", cpu="usage_usec 5\n",
        quota="max 100000\n", most="max\n", current="900\n",
    )  # fmt: skip
    machine = files.machine()
    files.now_s = 1.0
    files.busy(20, 80)

    assert machine.load() == "20:10"


def test_the_cpu_is_not_measured_over_moments(files: Files) -> None:
    files.busy(0, 0)
    machine = files.machine()
    files.now_s = 1.0
    files.busy(50, 50)
    assert machine.load() == "50:"
    files.now_s = 1.1
    files.busy(60, 50)

    assert machine.load() == "50:"


@pytest.mark.parametrize(
    "text",
    ["", "cpu", "cpu x y z 1 2", "cpu 1 2 3", "\n\n", "\xe4", "usage_usec x", "9" * 9000],
    ids=range(8),
)
def test_files_of_another_form_are_ignored(files: Files, text: str) -> None:
    names = ("stat", "meminfo", "cpu", "quota", "most", "current", "memory")
    files.write(**dict.fromkeys(names, text))
    machine = files.machine()
    files.now_s = 1.0

    cpu, _, memory = machine.load().partition(":")

    assert cpu == ""
    assert memory in ("", "100")


def test_a_counter_that_falls_back_is_no_load(files: Files) -> None:
    files.busy(900, 900)
    machine = files.machine()
    files.now_s = 1.0
    files.busy(1, 1)

    assert machine.load() == ":"
