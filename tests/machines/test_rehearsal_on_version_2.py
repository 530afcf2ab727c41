"""The rehearsal cluster on a real machine: systemd as process 1, control groups of version 2, no compiler, no Go."""

from __future__ import annotations

import pytest

from tests.machines.machine import Machine

pytestmark = pytest.mark.timeout(7200)  # without hardware acceleration, beside other work

REHEARSAL = "cd /work/project && .venv/bin/python -m kubeflow_volcano.rehearsal"
ENABLED = "cat /sys/fs/cgroup/cgroup.subtree_control"
PODS = "/root/.cache/kubeflow-volcano/rehearsal/m/bin/kubectl get pods -A --no-headers"
KUBECONFIG = "export KUBECONFIG=/root/.cache/kubeflow-volcano/rehearsal/m/admin.kubeconfig"


def test_it_is_the_machine_that_is_meant(machine: Machine) -> None:
    assert machine.ask("stat -fc %T /sys/fs/cgroup") == "cgroup2fs"
    assert machine.ask("cat /proc/1/comm") == "systemd"
    assert machine.ask("getenforce") in {"Enforcing", "Permissive"}
    assert machine.run("command -v go gcc", check=False).stdout == ""


def test_up_beside_systemd_and_down_leaves_nothing(machine: Machine) -> None:
    before = machine.ask(ENABLED)
    machine.run(f"{REHEARSAL} up --name m", seconds=1800)
    assert "m: ready" in machine.ask(f"{REHEARSAL} status --name m")
    assert "coredns" in machine.ask(f"{KUBECONFIG}; {PODS}")

    machine.run("systemctl daemon-reload")  # systemd goes over the controllers of the top
    assert "m: ready" in machine.ask(f"{REHEARSAL} status --name m")
    assert machine.run(f"{REHEARSAL} up --name m", seconds=1800).stdout.startswith("unchanged")

    machine.run(f"{REHEARSAL} down --name m", seconds=600)
    assert machine.ask(ENABLED) == before
    assert machine.run("ls -d /sys/fs/cgroup/kfv-*", check=False).stdout == ""
    assert "kfv" not in machine.ask("ip -br link")
