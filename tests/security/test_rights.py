"""Each role's rights are what its scripts call, no more; the shipped file says the same."""

import re

import pytest
import redis

from queuepool.cli.commands.acl import aclfile, hashed, template
from queuepool.protocol.keys import PARTITION_KEYS, SYSTEM_KEYS, Keyspace
from queuepool.verbs.acl import ROLES, WRITING, ServerRole, keys_of
from queuepool.verbs.scripts import names, script
from tests.paths import ROOT

VERBS = ROOT / "queuepool" / "verbs"
DIRECT = {
    "producer": {"wait"},  # to hear what an enqueue has survived
    "consumer": {"client|id", "client|list", "info"},  # whether an owner has crashed
    "coordinator": {"info"},  # for the doctor
    "ops-read": {"info"},
    "ops": {"acl|whoami", "command", "config|get", "info", "ping", "wait"},
}
EVERYBODY = {"cluster|slots", "evalsha", "script|load", "select"}
FORBIDDEN = re.compile(
    r"keys|flush.*|config.*|debug.*|eval|eval_ro|function.*|fcall.*|shutdown|save|bgsave|acl.*|monitor"
    r"|replicaof|slaveof|migrate|restore|module.*|scan|randomkey|rename.*|client\|kill|swapdb|sort"
)
# What a script writes to under a name that does not tell the key.
ALIASES = {
    "job.g": "g", "g": "g", "group_of(": "g", "groups[": "g", "lanes[": "q", "lane.key": "q",
    "lane_key(": "q", "lane": "q", "rings[": "ring", "ring": "ring tr", "lane.room.record": "g tn",
    "record": "tn", "unpack(": "tn", "book": "fl",
    "in_flight": "fl", "set": "dn", "queue": "lt lw", "other": "li lc lt lw ls lp",
    "key": "dl dead", "seats[": "gr", "seat.ring": "gr", "job.key": "gq", "list": "q gq",
    "hash": "", "found": "q g dg wk gq gr gg tr tn tt b bf br",
    "note[1]": "at cr er pr cn u uk mg lm",
    "fixed": "h c dl du dead rec wk cmd j o dr ck at cr er pr cn cx ua ring dn fl u uk ex mg"
    " lm ll gt ga gk ls mt pl bd fo mv mn ht",
}  # fmt: skip

ADDING = {"hincrby", "hset"}  # what the part `add` does to its key


def called(name: str) -> set[str]:
    source = script(name).source.decode()
    return {word.lower() for word in re.findall(r"(?:redis\.p?call|ours)\('([A-Z]+)'", source)}


def scripts_in(module: str) -> set[str]:
    """Return the scripts that a module of verbs calls."""
    return set(re.findall(r"(?:Verb|owned)\(\s*\"(\w+)\"", (VERBS / f"{module}.py").read_text()))


def written(name: str) -> set[tuple[str, str]]:
    """Return (stem of a key, command) for all that a script writes, as its source says."""
    source = script(name).source.decode()
    found: set[tuple[str, str]] = set()
    pattern = r"(?:redis\.p?call\('([A-Z]+)', |\badd\()((?:[^,()]|\([^()]*\))+)"
    for match in re.finditer(pattern, source):
        commands = {match[1].lower()} & WRITING if match[1] else ADDING
        if match[2] == "key" and commands & ADDING:
            continue  # within add itself: what counts is who calls it
        stems = stems_of(match[2].strip(), source[: match.start()]) if commands else set()
        found |= {(stem, command) for stem in stems for command in commands}
    return found


def stems_of(expression: str, before: str) -> set[str]:
    """Return what keys an expression of a script stands for, by the assignments before it."""
    if re.match(r"(base|KEYS\[1\]) \.\. ':' \.\. \w+$", expression):  # one after the other
        listed = re.findall(r"ipairs\((?:\w+ and )?\{([^}]*)\}", before)[-1]
        return set(re.findall(r"'(\w+)'", listed))
    if match := re.match(r"(?:base|KEYS\[1\]) \.\. ':(\w+)", expression):
        return {match[1]}
    for alias, stems in ALIASES.items():
        if expression == alias or (alias[-1] in "([" and expression.startswith(alias)):
            return set(stems.split())
    assigned = {
        name: key
        for names_, values in re.findall(r"local ([\w, ]+) = (.+)", before)
        for name, value in zip(names_.split(", "), re.split(r", (?![^(]*\))", values), strict=False)
        for key in re.findall(r"(?:base|KEYS\[1\]) \.\. ':(\w+)", value)
    }
    return {assigned[expression]}


# What a role's scripts can write, but not for this role, which needs less of them.
ONLY_ASKED = {
    "producer": {("route", "hsetnx"), ("bf", "unlink"), ("br", "unlink")},
    "consumer": {("cmd", "unlink"), ("ck", "unlink")},
    # It holds and configures, but deletes no foreign value on the way: that would be any lane.
    "coordinator": {
        (stem, "unlink")
        for stem in (
            *("q", "g", "dg", "wk", "li", "lc", "lt", "lw", "ls", "lp", "gq", "gr", "gg"),
            *("tr", "tn", "tt", "b", "bf", "br"),
        )
    }
    # Jobs of schedules are never delayed, and never replace another.
    | {("dl", "zadd"), ("du", "zadd"), ("dg", "sadd"), ("j", "hdel"), ("ex", "hdel")},
}
# What it writes beside its scripts.
OF_EARLIER = {("decisions", "xadd")}  # coordinators of releases before 0.2.0, during an upgrade
BESIDE = {
    "consumer": {("wk", "blpop")},
    "coordinator": OF_EARLIER,
    "ops": {("wk", "blpop"), *OF_EARLIER},
}


def granted(role: ServerRole) -> set[tuple[str, str]]:
    return {(stem, command) for stem, commands in role.writes.items() for command in commands}


def test_the_roles_together_are_all_scripts_and_each_is_a_module_of_verbs() -> None:
    scripts = {name: set(role.scripts) for name, role in ROLES.items()}

    shape = scripts_in("producer/route") | scripts_in("producer/pools")
    tenants = scripts_in("producer/tenants")
    beside = scripts_in("producer/relay") | tenants | scripts_in("flows/verbs") - {"batches"}
    assert scripts["producer"] == scripts_in("producer/verbs") | shape | beside
    of_owners = {"ask", "slow", "end_permits"}
    owner = scripts_in("owner/verbs") | scripts_in("owner/gates") | of_owners
    of_batches = scripts_in("flows/telling") | {"batch", "batch_results"}
    assert scripts["consumer"] == owner | {"audit"} | shape | of_batches
    of_groups = {"group", "configure", "hold_task"} | tenants
    beside = {"observe", "gates", "checkup"} | of_groups | shape
    beside |= scripts_in("limits/verbs") - of_owners
    beside |= scripts_in("schedules/verbs") | scripts_in("log/verbs")
    beside |= {"find", "errors", "history", "groups", "batch", "batches"}  # of operators
    beside |= {"enqueue"}  # the job of a schedule, when an operator says so
    assert scripts["coordinator"] == scripts_in("leader/verbs") | beside
    assert scripts["ops"] == set(names())


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_a_role_has_the_commands_of_its_scripts_and_no_more(role: ServerRole) -> None:
    wanted = set().union(*map(called, role.scripts)) - WRITING

    assert set(role.commands) == wanted | DIRECT[role.name] | EVERYBODY
    forbidden = {c for c in role.commands if FORBIDDEN.fullmatch(c)}
    of_operators = {"acl|whoami", "config|get", "scan"}  # moves look for groups without jobs
    assert forbidden == (of_operators if role.name == "ops" else set())


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_a_role_writes_what_its_scripts_write_in_the_same_way_and_no_other(
    role: ServerRole,
) -> None:
    wanted = set().union(*map(written, role.scripts)) if role.writes else set()
    wanted = wanted - ONLY_ASKED.get(role.name, set()) | BESIDE.get(role.name, set())

    assert granted(role) == wanted


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_a_role_reads_the_keys_of_its_scripts_and_its_rules_name_no_others(
    role: ServerRole,
) -> None:
    bases = "/dev/queue/{partition_*}/main", "/dev/sys/{sys*}/main"
    read, rest = set[str](), set[str]()
    for word in role.rules(Keyspace()):
        for found in re.finditer(r"(~|%R~)([^ ()]+?)(?::(\w+)(?::\*)?)?(?=[ )]|$)", word):
            assert found[2] in bases
            (read if found[1] == "%R~" else rest).add(found[3])

    assert read == set().union(*map(keys_of, role.scripts))
    probes = {"probe"} if role.name == "ops" else set()
    assert rest == {stem for stem, _ in granted(role)} | {None} | probes


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_options_add_what_they_say_and_no_more(role: ServerRole) -> None:
    plain = set(role.rules(Keyspace()))
    confirms = role.name in ("producer", "ops")

    newer = set(role.rules(Keyspace(), newer=True)) - plain
    fsynced = set(role.rules(Keyspace(), fsynced=True)) - plain

    assert newer == {"+client|setinfo"} | ({"+waitaof"} if confirms else set())
    assert fsynced == ({"+config|get"} if role.name == "producer" else set())


def test_every_key_of_a_script_is_one_that_exists() -> None:
    known = {key.partition(":")[0] for key in (*PARTITION_KEYS, *SYSTEM_KEYS)}

    assert set().union(*map(keys_of, names())) == known
    written_now = {stem for name in names() for stem, _ in written(name)}
    assert written_now | {stem for stem, _ in OF_EARLIER} == known


def test_a_server_agrees_on_which_commands_write(engine_url: str) -> None:
    everything = sorted(set().union(*map(called, names())) | {"blpop"})
    with redis.Redis.from_url(engine_url) as client:
        flags = {
            name: client.execute_command("COMMAND", "INFO", name)[name]["flags"]
            for name in everything
        }

    assert {name for name, said in flags.items() if "write" in said} == WRITING | {"blpop"}


def test_the_shipped_file_is_what_the_command_prints() -> None:
    shipped = (ROOT / "deploy" / "acl" / "users.acl").read_text()

    assert shipped.splitlines() == template(Keyspace()), (
        "rewrite it: queuepool acl --format template > deploy/acl/users.acl"
    )


def test_a_file_of_ones_own_shuts_the_default_user_and_holds_no_password() -> None:
    passwords = dict.fromkeys(ROLES, "open-sesame") | {"admin": hashed("other")}

    lines = aclfile(Keyspace("prod", "bulk"), passwords)

    assert lines[0] == "user default reset off"
    assert lines[-1] == f"user admin reset on {hashed('other')} ~* &* +@all"
    assert [line.split()[1] for line in lines[1:-1]] == [f"prod-bulk-{role}" for role in ROLES]
    assert all(f" {hashed('open-sesame')} " in line for line in lines[1:-1])
    assert "open-sesame" not in "".join(lines)
    assert "/dev/" not in "".join(lines)
