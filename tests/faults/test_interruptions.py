"""Case 21, the roll-out's part: killed at ten moments and resumed, and interrupted through the playbook."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.state.lock import holder_of
from tests.faults.kit import said_by
from tests.faults.proxy import Asked, FaultProxy
from tests.faults.rolling import assert_whole, run
from tests.places import ROOT
from tests.waiting import until

pytestmark = pytest.mark.cluster


@pytest.mark.long
@pytest.mark.fault(21)
def test_a_roll_out_that_is_killed_at_ten_moments_is_resumed_each_time_and_converges(
    through: tuple[FaultProxy, Path], cluster: Cluster, objects: list[Object], tmp_path: Path
) -> None:
    proxy, kubeconfig = through
    place = tmp_path / "objects.json"
    place.write_text(json.dumps(objects), "utf-8")
    command = [sys.executable, "-m", "tests.faults.killed", str(kubeconfig), str(place)]
    ended: list[int] = []
    for requests in range(2, 32, 3):
        with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT) as process:
            begun = len(proxy.asked)

            def plan(asked: Asked, process: subprocess.Popen[bytes] = process, last: int = begun + requests) -> None:
                if asked.number >= last:
                    process.kill()

            proxy.plan = plan
            _, said = process.communicate(timeout=120)
        proxy.plan = lambda _asked: None
        assert b"Traceback" not in said, said.decode()
        ended.append(process.returncode)
    assert ended.count(-signal.SIGKILL) >= 5  # the last ones may have had nothing left to do
    assert not run(cluster, objects).problems
    assert_whole(cluster, objects)


def holder(cluster: Cluster) -> str:
    """Who holds the lock of roll-outs; empty if it is free."""
    held = holder_of(cluster)
    return held.name if held else ""


@pytest.mark.long
@pytest.mark.fault(21)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_playbook_that_is_interrupted_under_its_lock_is_followed_by_one_that_comes_through(
    kubeconfig: Path, cluster: Cluster, number: signal.Signals
) -> None:
    name = kubeconfig.parent.name
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(ROOT / "inventory/rehearsal")]
    command += ["-e", f"rehearsal_cluster_name={name}", str(ROOT / "playbooks/install.yml")]
    env = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    before = holder(cluster)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        # Between two tasks, a signal may hit Ansible where it ends with a traceback of its own.
        until(lambda: holder(cluster) not in {"", before}, 120, every=0.1)
        process.send_signal(number)
        said, _ = process.communicate(timeout=120)
    assert "Traceback" not in said, said
    assert process.returncode in {99, 130, 143, -number}, said
    again = said_by(command, {})
    assert again.returncode == 0, again.stdout
    assert holder(cluster) == ""
