"""Import it in a consumer to make its scripts those of another version: the same, other hashes."""

from hashlib import sha1
from importlib.resources import files

from queuepool.scripts import Script
from queuepool.servers import wire


def newer(name: str) -> Script:
    """Return a script as the other version knows it."""
    source = files("queuepool.scripts").joinpath(f"{name}.lua").read_bytes() + b"-- newer\n"
    return Script(name, source, sha1(source, usedforsecurity=False).hexdigest().encode())


vars(wire)["script"] = newer
