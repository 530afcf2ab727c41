"""The rehearsal cluster on a real machine: systemd as process 1, control groups of version 2, no compiler, no Go."""

from __future__ import annotations

import json

import pytest

from tests.machines.machine import Machine

pytestmark = pytest.mark.timeout(7200)  # without hardware acceleration, beside other work

REHEARSAL = "cd /work/project && .venv/bin/python -m kubeflow_volcano.rehearsal"
PLAYBOOK = "cd /work/project && .venv/bin/python -m ansible playbook -i inventory/rehearsal -e rehearsal_cluster_name=m"
ENABLED = "cat /sys/fs/cgroup/cgroup.subtree_control"
PODS = "/root/.cache/kubeflow-volcano/rehearsal/m/bin/kubectl get pods -A --no-headers"
KUBECONFIG = "export KUBECONFIG=/root/.cache/kubeflow-volcano/rehearsal/m/admin.kubeconfig"
EXPERIMENTS = ["H1", "H2", "H3", "H4"]


@pytest.fixture(scope="module")
def before(machine: Machine) -> str:
    """The controllers that systemd had enabled at the top before there was a cluster."""
    return machine.ask(ENABLED)


def test_it_is_the_machine_that_is_meant(machine: Machine) -> None:
    assert machine.ask("stat -fc %T /sys/fs/cgroup") == "cgroup2fs"
    assert machine.ask("cat /proc/1/comm") == "systemd"
    assert machine.ask("getenforce") in {"Enforcing", "Permissive"}
    assert machine.run("command -v go gcc", check=False).stdout == ""


@pytest.mark.usefixtures("before")
def test_it_comes_up_beside_systemd(machine: Machine) -> None:
    machine.run(f"{REHEARSAL} up --name m", seconds=1800)
    assert "m: ready" in machine.ask(f"{REHEARSAL} status --name m")
    assert "coredns" in machine.ask(f"{KUBECONFIG}; {PODS}")

    machine.run("systemctl daemon-reload")  # systemd goes over the controllers of the top
    assert "m: ready" in machine.ask(f"{REHEARSAL} status --name m")
    assert machine.run(f"{REHEARSAL} up --name m", seconds=1800).stdout.startswith("unchanged")


def test_gangs_are_proved_with_the_real_volcano_there(machine: Machine) -> None:
    for role in ("local_path", "volcano"):  # one after the other: the emulated API server is slow
        machine.run(f"{PLAYBOOK} playbooks/install.yml --tags {role}", seconds=3600)
    validators = f"{KUBECONFIG}; cd /work/project && .venv/bin/python -m validators --report-dir /root/reports"
    machine.run(f"{validators} --select {','.join(EXPERIMENTS)}", seconds=3600)
    report = json.loads(machine.ask("cat /root/reports/latest.json"))
    found = {item["id"]: (item["status"], item["message"]) for item in report["checks"] if item["id"] in EXPERIMENTS}
    assert {id_: status for id_, (status, _) in found.items()} == dict.fromkeys(EXPERIMENTS, "pass"), found
    assert report["cleanup"]["left"] == []


def test_down_leaves_nothing(machine: Machine, before: str) -> None:
    machine.run(f"{REHEARSAL} down --name m", seconds=600)
    assert machine.ask(ENABLED) == before
    assert machine.run("ls -d /sys/fs/cgroup/kfv-*", check=False).stdout == ""
    assert "kfv" not in machine.ask("ip -br link")
