"""Generate the gRPC stubs of queuepool/rpc.

Run: `python -m tools.stubs --write | --check`.

Sources are proto/queuepool/rpc/*/*.proto. Because their folders mirror the package, the
generated code imports its neighbours by absolute name and needs no patching.
"""

import argparse
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("queuepool/rpc")
PATTERNS = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py")


def generate(target: Path) -> None:
    """Write the stubs below `target`, with the pinned grpcio-tools."""
    from grpc_tools import protoc  # from the extra `gen`; nothing else needs it

    proto = ROOT / "proto"
    sources = sorted(str(path) for path in (proto / PACKAGE).glob("*/*.proto"))
    if not sources:
        sys.exit(f"no .proto file in {proto / PACKAGE}: nothing to generate stubs from")
    arguments = [
        "protoc",
        f"--proto_path={proto}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        f"--python_out={target}",
        f"--pyi_out={target}",
        f"--grpc_python_out={target}",
        *sources,
    ]
    if protoc.main(arguments) != 0:
        sys.exit("protoc refused the sources; see above")


def stubs(folder: Path) -> dict[str, bytes]:
    """Return the content of the stubs in `folder`, by path."""
    paths = (path for pattern in PATTERNS for path in folder.glob(f"{PACKAGE}/*/{pattern}"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def main() -> int:
    """Write the stubs, or compare them with what the sources generate now."""
    parser = argparse.ArgumentParser(description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="replace the stubs in the tree")
    mode.add_argument("--check", action="store_true", help="fail when the tree's are not current")
    write = parser.parse_args().write

    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        fresh, present = stubs(Path(folder)), stubs(ROOT)
    differing = sorted(
        name for name in fresh.keys() | present.keys() if fresh.get(name) != present.get(name)
    )
    for name in differing:
        print(f"{name}: {'written' if write else 'not what proto/ gives now'}")
        if write and name in fresh:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_bytes(fresh[name])
        elif write:
            (ROOT / name).unlink()
    return 1 if differing and not write else 0


if __name__ == "__main__":
    sys.exit(main())
