"""Import it in a consumer to make its scripts those of another version: the same, other hashes."""

from queuepool.servers import wire
from queuepool.verbs import scripts
from queuepool.verbs.scripts import Script, script


def newer(name: str) -> Script:
    """Return a script as the other version knows it."""
    return scripts.named(name, script(name).source.replace(b"\n", b"\nlocal newer\n", 1))


vars(wire)["script"] = newer
