"""Drive one queue: see the package."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

from benchmarks.peers.adapters.harness import Order, Peer, produce, versions


def main(name: str, command: str, argument: str = "") -> None:
    """Obey one command."""
    peer: Peer = importlib.import_module(f"benchmarks.peers.adapters.{name}").PEER
    if command == "about":
        print(json.dumps({"versions": versions(peer.packages), "settings": peer.settings}))
    elif command == "produce":
        order = Order(**json.loads(argument))
        print(json.dumps({"jobs": order.jobs, "seconds": asyncio.run(produce(peer, order))}))
    elif command == "work":
        peer.work(int(argument))
    else:
        sys.exit(f"unknown command: {command}")


if __name__ == "__main__":
    main(*sys.argv[1:])
