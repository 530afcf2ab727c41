"""A node whose images something else pulls is told what to do instead."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from kubeflow_volcano.hosts.containerd.look import runtime_problems, unit_problems
from kubeflow_volcano.hosts.facts import Kubelet, Runtime


def runtime(**changes: Any) -> Runtime:
    values: dict[str, Any] = {field.name: "" for field in fields(Runtime)}
    values |= {"name": "containerd", "origin": "kubelet", "endpoint": "unix:///run/containerd/containerd.sock"}
    return Runtime(**values | changes)


def kubelet(program: str = "kubelet") -> Kubelet:
    values: dict[str, Any] = {field.name: "" for field in fields(Kubelet)}
    return Kubelet(**values | {"program": program})


def test_containerd_is_what_is_wanted() -> None:
    assert list(runtime_problems(runtime(), kubelet())) == []


@pytest.mark.parametrize(
    ("found", "program", "told", "todo"),
    [
        (
            {"name": "docker", "through": "cri-dockerd", "endpoint": "unix:///run/cri-dockerd.sock"},
            "kubelet",
            "the node runs Docker, whose mirrors work for Docker Hub only",
            "image_mirror_mode: rewrite",
        ),
        ({"name": "docker", "through": "dockershim", "endpoint": ""}, "kubelet", "through dockershim", "rewrite"),
        (
            {"name": "cri-o", "endpoint": "/run/crio/crio.sock"},
            "kubelet",
            "CRI-O",
            "/etc/containers/registries.conf.d/",
        ),
        ({"name": "isulad", "endpoint": "unix:///run/isulad.sock"}, "kubelet", "iSulad", "image_mirror_mode: rewrite"),
        (
            {"endpoint": "unix:///run/k3s/containerd/containerd.sock"},
            "k3s",
            "the node runs k3s, which overwrites containerd's configuration",
            "/etc/rancher/k3s/registries.yaml and restart k3s",
        ),
        (
            {"endpoint": "unix:///run/k3s/containerd/containerd.sock"},
            "rke2",
            "the node runs rke2",
            "/etc/rancher/rke2/registries.yaml and restart rke2-server or rke2-agent",
        ),
        ({"endpoint": "unix:///run/k3s/containerd/containerd.sock"}, "kubelet", "the node runs k3s", "registries.yaml"),
        (
            {"name": "", "origin": "", "endpoint": ""},
            "",
            "no kubelet, and no runtime is installed",
            "install containerd",
        ),
        ({"name": "other", "endpoint": "unix:///x.sock"}, "kubelet", "unix:///x.sock", "install containerd"),
    ],
)
def test_another_runtime_is_refused_with_what_to_do_instead(
    found: dict[str, Any], program: str, told: str, todo: str
) -> None:
    (problem,) = runtime_problems(runtime(**found), kubelet(program))
    assert told in problem.found
    assert todo in problem.todo


def test_a_unit_whose_restart_spares_pods_is_right() -> None:
    assert list(unit_problems({"LoadState": "loaded", "KillMode": "process"})) == []


@pytest.mark.parametrize("mode", ["control-group", "mixed", ""])
def test_a_unit_whose_restart_may_kill_pods_is_refused_with_the_repair(mode: str) -> None:
    (problem,) = unit_problems({"LoadState": "loaded", "KillMode": mode})
    assert f"KillMode={mode}" in problem.found
    assert "systemctl daemon-reload" in problem.todo
