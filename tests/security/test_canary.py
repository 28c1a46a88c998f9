"""No secret shows anywhere but where someone asked for it: a canary through a whole cluster."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from queuepool import QueuePool, cli
from queuepool.models import JobState
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.rpc.v1.job_pb2 import JobFilter
from queuepool.rpc.v1.limit_pb2 import LimitDefinition
from queuepool.rpc.v1.schedule_pb2 import ScheduleDefinition
from queuepool.servers.tls import Tls
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Enqueued
from tests.apps import SECRETS
from tests.integration.consumer.processes import ConsumerProcess
from tests.integration.coordinator.cluster import Process
from tests.paths import ROOT
from tests.security.canary import Canary, Leak, leaks
from tests.security.certificates import HAVE_OPENSSL, Authority
from tests.security.servers import REDIS, TlsServer
from tests.waiting import wait_until

STAGE, PARTITIONS = "canary", 2
# Who asks for a job gets its result or error; who asks for dead ones gets all of them.
INTENDED = {
    r"dead list( --json)? of .*": ["error"],
    r"dead list --json of .*": ["payload"],
    r"dead show .*": ["error", "payload"],
    r"job show done of .*": ["result"],
    r"job show dead of .*": ["error"],
}
_WATCH = "watch --for 0.3s --interval 0.1s"
_WITH_JSON = (
    "status", _WATCH, "check", "audit", "dead list", "dead show --task fail", "group show k0",
)  # fmt: skip
READ_ONLY = [f"{command}{form}" for command in _WITH_JSON for form in ("", " --json")]


class Rig:
    """Processes that hold every secret, and what they have shown so far."""

    def __init__(self, stack: ExitStack, directory: Path) -> None:
        self.canary, self._stack, self.directory = Canary(), stack, directory
        self.environment = self._server() | {
            "QUEUEPOOL_STAGE": STAGE,
            "QUEUEPOOL_PARTITIONS": str(PARTITIONS),
            **{f"{SECRETS}_{kind.upper()}": self.canary[kind] for kind in ("result", "error")},
        }
        self.jobs: dict[str, tuple[str, str]] = {}  # what it became -> (key, id)

    def _server(self) -> dict[str, str]:
        """Start a server with a password, and with TLS where this machine has what it takes."""
        password = self.canary["url_password"]
        if REDIS is None or not HAVE_OPENSSL:
            server = EmbeddedServer(appendonly=False, extra_args=("--requirepass", password))
            self._stack.enter_context(server)
            return {"QUEUEPOOL_URL": server.url.replace("//", f"//:{password}@")}
        authority = Authority(self.directory / "ca")
        mine, open_key = authority.issue("client")
        tls = self._stack.enter_context(
            TlsServer(
                authority.ca, authority.issue("server"), mutual=True,
                more=("--requirepass", password),
            )
        )  # fmt: skip
        return {
            "QUEUEPOOL_URL": tls.over_tls().replace("//", f"//:{password}@"),
            "QUEUEPOOL_TLS_CA": str(authority.ca),
            "QUEUEPOOL_TLS_CERT": str(mine),
            "QUEUEPOOL_TLS_KEY": str(authority.locked(open_key, self.canary["key_password"])),
            "QUEUEPOOL_TLS_KEY_PASSWORD": self.canary["key_password"],
        }

    def start(self) -> None:
        """Start a consumer that logs text, one that logs JSON, and a coordinator."""
        url = self.environment["QUEUEPOOL_URL"]
        self.consumers = []
        for n, style in enumerate(("text", "json")):
            directory = self.directory / style
            directory.mkdir()
            consumer = ConsumerProcess(
                url, STAGE, directory, environment=self.environment, app="tests.apps.canary",
                partition=n, partitions=PARTITIONS, log_format=style, log_level="DEBUG", lease_s=60,
            )  # fmt: skip
            self._stack.callback(consumer.kill)
            self.consumers.append(consumer)
        self.coordinator = Process(
            url, STAGE, environment=self.environment, log_format="json", log_level="DEBUG",
            grpc_token=self.canary["token"], grpc_viewer_token=self.canary["viewer_token"],
        )  # fmt: skip
        self._stack.callback(self.coordinator.kill)

    def pool(self) -> QueuePool:
        """Return a pool of the cluster."""
        tls = Tls()
        if "QUEUEPOOL_TLS_CA" in self.environment:
            names = ("CA", "CERT", "KEY")
            ca, cert, key = (Path(self.environment[f"QUEUEPOOL_TLS_{name}"]) for name in names)
            tls = Tls(ca, cert, key, self.canary["key_password"])
        url = tls.added_to(self.environment["QUEUEPOOL_URL"])
        topology = build({"main": url}, PARTITIONS, "")
        return QueuePool(config=PoolConfig(topology=topology, keyspace=Keyspace(STAGE)))

    def work(self, *tasks: str) -> None:
        """Run jobs of these tasks, one a partition, and wait for their ends."""
        payload = {"secret": self.canary["payload"]}
        with self.pool() as pool:
            keys = {pool.producer.route(f"k{n}").partition: f"k{n}" for n in range(20, -1, -1)}
            jobs: list[tuple[str, Enqueued]] = [
                (key, pool.enqueue(task, payload, partition_key=key))
                for task in tasks
                for key in keys.values()
            ]
            ends = (JobState.DONE, JobState.DEAD)

            def state(key: str, job: Enqueued) -> JobState:
                return pool.status(job.job_id, partition_key=key).state

            wait_until(
                lambda: all(state(*job) in ends for job in jobs), 60.0, f"{tasks} have ended"
            )
            self.jobs |= {str(state(key, job)): (key, job.job_id) for key, job in jobs}

    def logs(self) -> dict[str, str]:
        """Return everything that the processes have printed so far."""
        return {
            "log of the coordinator": "".join(self.coordinator.log),
            **{f"log of consumer {n}": c.log for n, c in enumerate(self.consumers)},
        }

    def answers(self) -> dict[str, str]:
        """Return everything that they answer, and what commands print."""
        texts = {
            f"metrics of consumer {n}": consumer.get("/metrics")[1]
            for n, consumer in enumerate(self.consumers)
        }
        with urllib.request.urlopen(self.coordinator.metrics, timeout=30) as answer:
            texts["metrics of the coordinator"] = answer.read().decode()
        return texts | self._grpc() | self._command_line() | self._wrong_password()

    def _grpc(self) -> dict[str, str]:
        texts = {}
        for token in ("token", "viewer_token", "none"):
            secret = self.canary[token] if token != "none" else None
            with connect(self.coordinator.grpc, secret, deadline_s=30) as client:
                for name, call in calls(client).items():
                    try:
                        answer = call()
                    except grpc.RpcError as error:
                        answer = f"{error!r} {error}"
                    texts[f"{name} with {token}"] = f"{type(answer).__name__} {answer}"
        return texts

    def _command_line(self) -> dict[str, str]:
        extra = {
            "QUEUEPOOL_GRPC": self.coordinator.grpc,
            "QUEUEPOOL_GRPC_TOKEN": self.canary["token"],
        }
        commands = {command: tuple(command.split()) for command in READ_ONLY}
        for state, (key, job_id) in self.jobs.items():
            commands[f"job show {state}"] = ("job", "show", job_id, "--key", key)
        texts = {}
        for asked in ("servers", "coordinator"):
            environment = self.environment | (extra if asked == "coordinator" else {})
            for name, words in commands.items():
                if asked == "servers" or words[0] in ("status", "watch"):
                    texts[f"{name} of the {asked}"] = output_of(words, environment)
        return texts

    def _wrong_password(self) -> dict[str, str]:
        """Return what a process says that no one lets in, with all secrets in hand."""
        known = self.canary["url_password"]
        wrong = {"QUEUEPOOL_URL": self.environment["QUEUEPOOL_URL"].replace(known, f"x{known}")}
        env = {k: v for k, v in os.environ.items() if not k.startswith("QUEUEPOOL_")}
        done = subprocess.run(
            [sys.executable, "-m", "queuepool", "status"],
            env={**env, **self.environment, **wrong, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0
        return {"a command with a wrong password": done.stdout + done.stderr}


def calls(client: Any) -> dict[str, Callable[[], object]]:
    """Return every call of the API."""
    return {
        "GetCluster": lambda: client.GetCluster(api.GetClusterRequest()),
        "ListPartitions": lambda: client.ListPartitions(api.ListPartitionsRequest()),
        "GetPartition": lambda: client.GetPartition(api.GetPartitionRequest(partition=0)),
        "GetGroup": lambda: client.GetGroup(api.GetGroupRequest(partition_key=b"k0")),
        "ListDecisions": lambda: client.ListDecisions(api.ListDecisionsRequest()),
        "WatchPartitions": lambda: next(
            iter(client.WatchPartitions(api.WatchPartitionsRequest(), timeout=30))
        ),
        "Record": lambda: next(iter(client.Record(api.RecordRequest(), timeout=30))),
        "SetWorkers": lambda: client.SetWorkers(
            api.SetWorkersRequest(partition=0, workers=9, ttl_s=60, reason="test")
        ),
        "ClearWorkers": lambda: client.ClearWorkers(api.ClearWorkersRequest(partition=0)),
        "Hold": lambda: client.Hold(api.HoldRequest(partition_key=b"k0")),
        "Release": lambda: client.Release(api.ReleaseRequest(partition_key=b"k0")),
        "ConfigureGroup": lambda: client.ConfigureGroup(
            api.ConfigureGroupRequest(partition_key=b"k0", max_running=100)
        ),
        "ListTenants": lambda: client.ListTenants(api.ListTenantsRequest()),
        "GetTenant": lambda: client.GetTenant(api.GetTenantRequest(tenant="canary")),
        "ConfigureTenant": lambda: client.ConfigureTenant(
            api.ConfigureTenantRequest(tenant="canary", weight=2)
        ),
        "ListLimits": lambda: client.ListLimits(api.ListLimitsRequest()),
        "SetLimit": lambda: client.SetLimit(
            api.SetLimitRequest(limit="canary", definition=LimitDefinition(rate=9))
        ),
        "PauseLimit": lambda: client.PauseLimit(api.PauseLimitRequest(limit="canary", paused=True)),
        "RemoveLimit": lambda: client.RemoveLimit(api.RemoveLimitRequest(limit="canary")),
        "Explain": lambda: client.Explain(api.ExplainRequest(partition=0)),
        "GetPolicy": lambda: client.GetPolicy(api.GetPolicyRequest()),
        "SetPolicy": lambda: client.SetPolicy(api.SetPolicyRequest(changes={"budget": "900"})),
        "ListGroups": lambda: client.ListGroups(api.ListGroupsRequest()),
        "FindJobs": lambda: client.FindJobs(api.FindJobsRequest()),
        "CountJobs": lambda: client.CountJobs(api.CountJobsRequest()),
        "ListRunning": lambda: client.ListRunning(api.ListRunningRequest()),
        "GetDigest": lambda: client.GetDigest(api.GetDigestRequest()),
        "GetHistory": lambda: client.GetHistory(api.GetHistoryRequest(job_id="none")),
        "ListErrors": lambda: client.ListErrors(api.ListErrorsRequest()),
        "ListBatches": lambda: client.ListBatches(api.ListBatchesRequest()),
        "GetBatch": lambda: client.GetBatch(api.GetBatchRequest(batch="AAAAAAAAAAAAAA")),
        "ListSchedules": lambda: client.ListSchedules(api.ListSchedulesRequest()),
        "ListMoves": lambda: client.ListMoves(api.ListMovesRequest()),
        "Advise": lambda: client.Advise(api.AdviseRequest()),
        "SetSchedule": lambda: client.SetSchedule(
            api.SetScheduleRequest(
                schedule="canary", definition=ScheduleDefinition(task="t", every_s=86_400)
            )
        ),
        "ReplayJobs": lambda: client.ReplayJobs(
            api.ReplayJobsRequest(filter=JobFilter(), dry_run=True)
        ),
        "DiscardJobs": lambda: client.DiscardJobs(
            api.DiscardJobsRequest(filter=JobFilter(), dry_run=True)
        ),
        "RunJob": lambda: client.RunJob(api.RunJobRequest(job_id="none")),
        "EditJob": lambda: client.EditJob(api.EditJobRequest(job_id="none", payload="[1]")),
        "CancelBatch": lambda: client.CancelBatch(api.CancelBatchRequest(batch="AAAAAAAAAAAAAA")),
        "PauseSchedule": lambda: client.PauseSchedule(
            api.PauseScheduleRequest(schedule="canary", paused=True)
        ),
        "RunSchedule": lambda: client.RunSchedule(api.RunScheduleRequest(schedule="canary")),
        "RemoveSchedule": lambda: client.RemoveSchedule(
            api.RemoveScheduleRequest(schedule="canary")
        ),
    }


def output_of(words: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Return all that a command prints, run in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("QUEUEPOOL_")]:
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = cli.main(words)
    assert code == 0, said.getvalue()
    return said.getvalue()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with ExitStack() as stack:
        made = Rig(stack, tmp_path)
        made.start()
        yield made


def test_no_secret_shows_anywhere_else_than_where_it_was_asked_for(rig: Rig) -> None:
    rig.work("keep", "odd", "fail")
    shown = rig.answers() | rig.logs()

    assert leaks(rig.canary, shown, INTENDED) == []

    # There was much to see, and the secrets were there: where they were asked for they show.
    assert len(shown) > 40
    assert [place for place, text in shown.items() if not text.strip()] == []
    assert '"level": "debug"' in shown["log of the coordinator"]
    assert " ERROR   consumer: job " in shown["log of consumer 0"]
    assert '"level": "error"' in shown["log of consumer 1"]
    assert {
        Leak("dead list of the servers", "error"),
        Leak("dead show --task fail of the servers", "error"),
        Leak("dead show --task fail of the servers", "payload"),
        Leak("job show done of the servers", "result"),
        Leak("job show dead of the servers", "error"),
    } <= set(leaks(rig.canary, shown, {}))

    # A task that leaks is caught by the same look.
    rig.work("blab")

    assert leaks(rig.canary, rig.logs(), INTENDED) == [
        Leak("log of consumer 0", "payload"),
        Leak("log of consumer 1", "payload"),
    ]
