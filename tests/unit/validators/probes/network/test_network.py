"""Ways between nodes: which nodes are tried, the script run for real, and what its reports come to."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.ended import End
from kubeflow_volcano.validators.checks.network.routes import pod_to_service
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.network.network import (
    MOST_NODES,
    NETWORK,
    SCRIPT,
    NetworkEvidence,
    Server,
    Way,
    account,
    candidates,
)
from tests.samples.facts import facts, node

SERVERS = (Server("n1", "10.0.0.1:8080", "10.96.0.1:8080"), Server("n2", "10.0.0.2:8080", "10.96.0.2:8080"))
# The Service of the second server is not there at first, and the first server's pod never is.
WGET = r"""#!/bin/sh
for url in "$@"; do :; done
case $url in
  http://10.0.0.1:8080/) echo "wget: can't connect: No route to host" >&2; exit 1 ;;
  http://10.96.0.2:8080/)
    [ -e "$KFV_STATE" ] || { touch "$KFV_STATE"; echo "wget: refused" >&2; exit 1; } ;;
  http://10.96.0.1:8080/) echo "somebody else"; exit 0 ;;
esac
echo "$KFV_TEXT"
"""


@pytest.mark.programs
def test_ways_are_tried_again_and_another_servers_answer_is_none(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    (tmp_path / "wget").write_text(WGET)
    (tmp_path / "wget").chmod(0o755)
    (tmp_path / "sleep").symlink_to("/bin/true")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "KFV_TEXT": "kfv-1", "KFV_STATE": str(tmp_path / "state")}
    targets = [target for item in SERVERS for target in (item.pod, item.service)]
    script = SCRIPT.replace("/dev/termination-log", str(log))
    subprocess.run(["/bin/sh", "-c", script, "client", *targets], env=env, check=True)
    ways, trouble = account(
        "n3", SERVERS, End(succeeded=True, node="n3", said=log.read_text(), reason="", failure="", seconds=1)
    )
    assert trouble == ""
    assert [(item.server, item.through, item.failure.rpartition(": ")[2]) for item in ways] == [
        ("n1", False, os.strerror(errno.EHOSTUNREACH)),
        ("n1", True, "somebody else"),
        ("n2", False, ""),
        ("n2", True, ""),
    ]


def test_a_report_that_is_not_whole_is_trouble() -> None:
    end = End(succeeded=False, node="n3", said="10.0.0.1:8080 yes", reason="", failure="", seconds=1)
    ways, trouble = account("n3", SERVERS, end)
    assert (len(ways), bool(trouble)) == (1, True)


def fit(name: str, **spec: Any) -> Object:
    return node(name, spec=spec)


def test_nodes_that_are_not_tried_are_left_out_with_the_reason() -> None:
    sick = node("sick", status={"conditions": [{"type": "Ready", "status": "False"}]})
    kwok = node("kwok", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    names, left = candidates(
        facts(
            fit("b"),
            fit("a"),
            fit("gpu", taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]),
            fit("c", unschedulable=True),
            sick,
            kwok,
        )
    )
    assert names == ("a", "b", "gpu")
    assert {name: why.partition(":")[0] for name, why in left.items()} == {
        "c": "cordoned",
        "sick": "not ready",
        "kwok": "simulated",
    }


def test_more_nodes_than_can_be_tried_are_named_as_left_out() -> None:
    names, left = candidates(facts(*(fit(f"n{number:03}") for number in range(MOST_NODES + 2))))
    assert len(names) == MOST_NODES
    assert set(left) == {f"n{MOST_NODES:03}", f"n{MOST_NODES + 1:03}"}


def judged(*ways: Way, **fields: Any) -> Outcome:
    return pod_to_service(facts(evidences={NETWORK: NetworkEvidence(ways, **fields)}))


def test_open_ways_pass_and_a_single_node_says_what_it_shows() -> None:
    both = [Way(client, "n1", through) for client in ("n1", "n2") for through in (False, True)]
    outcome = judged(*both, left_out={"gpu": "cordoned"})
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["n1", "n2"])
    assert "1 node left out" in outcome.message
    assert "within it" in judged(Way("n1", "n1", through=True)).message


@pytest.mark.parametrize(
    ("ways", "reason", "told"),
    [
        (
            (Way("n2", "n1", through=False, failure="timeout"), Way("n2", "n1", through=True, failure="timeout")),
            "PodNetwork",
            "n2 to n1",
        ),
        (
            (Way("n2", "n1", through=False), Way("n2", "n1", through=True, failure="timeout")),
            "ServiceProxy",
            "kube-proxy",
        ),
    ],
)
def test_a_shut_way_fails_and_says_whose_fault_it_is(ways: tuple[Way, ...], reason: str, told: str) -> None:
    outcome = judged(*ways, Way("n1", "n1", through=True))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason)
    assert "1 of 2 pairs" in outcome.message
    assert told in outcome.message + outcome.todo


def test_a_node_that_could_not_be_tried_leaves_the_question_open() -> None:
    outcome = judged(Way("n1", "n1", through=True), unjudged={"n2": "Insufficient cpu"})
    assert (outcome.status, outcome.reason) == (Status.ERROR, "NodeNotTried")
    assert judged(left_out={"n1": "cordoned"}).reason == "NoNode"
    assert judged(failure=("ProbeRefused", "exceeded quota")).reason == "ProbeRefused"
    assert judged(failure=("Forbidden", "services")).reason == "Forbidden"
