"""Import it in a consumer to make its scripts those of another version: the same, other hashes."""

from queuepool import scripts
from queuepool.scripts import Script, script
from queuepool.servers import wire


def newer(name: str) -> Script:
    """Return a script as the other version knows it."""
    return scripts.named(name, script(name).source + b"-- newer\n")


vars(wire)["script"] = newer
