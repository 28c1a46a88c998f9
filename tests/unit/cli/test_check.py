"""What `queuepool check` concludes from what a server says."""

import re
from typing import Any

import pytest
import redis

from queuepool.cli.commands.check import unknown_variables
from queuepool.cli.inspection.probes import Trouble, commands, functions, judge, probe
from queuepool.cli.inspection.server_info import judge_info
from queuepool.verbs.scripts import names, script

GOOD = {"maxmemory_policy": "noeviction", "role": "master", "aof_enabled": 1}


def levels(info: dict[str, Any], *, cluster: bool = False) -> dict[str, str]:
    return {text: level for level, text in judge_info(info, cluster=cluster)}


def test_every_command_of_the_scripts_is_probed() -> None:
    source = "\n".join(script(name).source.decode() for name in names())
    used = set(re.findall(r"redis\.p?call\(\s*['\"]([A-Z]+)['\"]", source))

    probed = {call[0] for _, call in commands(b"/x")}

    assert len(used) > 30
    assert used - probed == {"SCAN"}  # only moves use it, and only operators may


def test_a_server_in_order_has_nothing_to_mend() -> None:
    assert set(levels(GOOD).values()) <= {"ok"}


@pytest.mark.parametrize(
    ("change", "level", "words"),
    [
        ({"maxmemory_policy": "allkeys-lru"}, "error", "CONFIG SET maxmemory-policy noeviction"),
        ({"role": "slave"}, "error", "replica"),
        ({"cluster_enabled": 1}, "error", r"redis\+cluster://"),
        ({"aof_enabled": 0}, "warning", "nothing is written to disk"),
        ({"aof_enabled": 0, "config_save": "60 1"}, "warning", "only snapshots"),
        ({"aof_last_write_status": "err"}, "error", "disk full"),
        ({"maxmemory": 100, "used_memory": 79}, "ok", "79% of maxmemory is used"),
        ({"maxmemory": 100, "used_memory": 80}, "warning", "80% of maxmemory.*Raise maxmemory"),
        ({"maxmemory": 100, "used_memory": 94}, "warning", "94% of maxmemory"),
        ({"maxmemory": 100, "used_memory": 95}, "error", "95% of maxmemory"),
        ({"maxmemory": 100, "used_memory": 99, "mem_not_counted_for_evict": 30}, "ok", "69% of"),
        ({"lazy_expire": "no"}, "ok", "CONFIG SET lazyfree-lazy-expire yes"),
    ],
)
def test_each_risk_is_named_with_its_remedy(change: dict[str, Any], level: str, words: str) -> None:
    found = levels(GOOD | change)

    assert [found[text] for text in found if re.search(words, text)] == [level]


def test_all_problems_are_told_at_once() -> None:
    bad = {"maxmemory_policy": "volatile-lru", "role": "slave", "aof_enabled": 0}

    assert sorted(levels(bad).values()) == ["error", "error", "warning"]


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        ("NOPERM this user has no permissions to run the 'blpop' command", Trouble.FORBIDDEN),
        ("NOPERM No permissions to access a key", Trouble.FORBIDDEN),
        ("unknown command 'LPOS', with args beginning with: 'x'", Trouble.MISSING),
        ("ERR wrong number of arguments for 'pexpireat' command", Trouble.MISSING),
        ("Error compiling script (new function): user_script:1: unexpected symbol near '#'",
         Trouble.MISSING),
        ("OOM command not allowed when used memory > 'maxmemory'.", Trouble.OTHER),
    ],
)  # fmt: skip
def test_the_reply_to_a_probe_tells_why(reply: str, trouble: Trouble) -> None:
    assert judge(reply) is trouble


class OldServer:
    """Answers as Redis 6.2 does to what it does not know."""

    def execute_command(self, *call: Any) -> None:
        if call[0] == "SCRIPT":
            raise redis.ResponseError("Error compiling script: unexpected symbol near '#'")


def test_an_old_server_is_refused_by_what_it_lacks() -> None:
    missing = functions(probe(OldServer(), b"/x"), Trouble.MISSING)

    assert missing == [
        "scripts with flags (#!lua, Redis 7.0)",
        f"SCRIPT LOAD ({len(names())} scripts)",
    ]


def test_a_mistyped_variable_is_noticed() -> None:
    variables = {"QUEUEPOOL_PARTITONS": "8", "QUEUEPOOL_X": "", "QUEUEPOOL_URL": "x", "PATH": ""}
    variables |= {"CONSUMER_MAX_WORKER": "8", "CONSUMER_KEY": "of an API"}

    assert [f.text for f in unknown_variables(variables)] == [
        "QUEUEPOOL_PARTITONS is set, but there is no such setting; do you mean "
        "QUEUEPOOL_PARTITIONS?",
        "QUEUEPOOL_X is set, but there is no such setting",
        "CONSUMER_MAX_WORKER is set, but there is no such setting; do you mean "
        "CONSUMER_MAX_WORKERS?",
    ]
