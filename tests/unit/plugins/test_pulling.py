"""What kfv_pull makes of the files and the output of programs that it finds on a node."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import host_files, node_images
from ansible_collections.kubeflow_volcano.platform.plugins.modules import kfv_pull

pytestmark = pytest.mark.programs

DIGEST = f"sha256:{'a' * 64}"


@pytest.fixture(autouse=True)
def _only_files_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "ROOT", str(tmp_path))


def put(root: Path, name: str, text: str = "") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "var/lib/kubelet/kubeadm-flags.env",
            'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix://{socket} --pod-infra-container-image=a/b:1"\n',
        ),
        ("var/lib/kubelet/kubeadm-flags.env", 'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint={socket}"\n'),
        ("var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: unix://{socket}\n"),
        ("var/lib/kubelet/config.yaml", 'containerRuntimeEndpoint: "{socket}"\n'),
    ],
)
def test_the_kubelets_own_word_goes_before_sockets_that_lie_about(tmp_path: Path, name: str, text: str) -> None:
    put(tmp_path, "run/cri-dockerd.sock")
    put(tmp_path, name, text.format(socket="/run/own/containerd.sock"))
    assert node_images.find_socket() == "/run/own/containerd.sock"


@pytest.mark.parametrize("socket", ["run/cri-dockerd.sock", "var/run/dockershim.sock"])
def test_docker_is_told_also_where_its_own_containerd_listens(tmp_path: Path, socket: str) -> None:
    put(tmp_path, "run/containerd/containerd.sock")
    put(tmp_path, socket)
    with pytest.raises(node_images.UnusableError, match="Docker"):
        node_images.find_socket()


def test_docker_that_the_kubelet_names_is_told(tmp_path: Path) -> None:
    put(tmp_path, "var/lib/kubelet/config.yaml", "containerRuntimeEndpoint: unix:///run/cri-dockerd.sock\n")
    with pytest.raises(node_images.UnusableError, match="Docker"):
        node_images.find_socket()


def test_without_any_runtime_the_reason_names_where_it_was_looked_for() -> None:
    with pytest.raises(node_images.UnusableError, match=r"listens at /run/containerd/containerd\.sock"):
        node_images.find_socket()


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("q.io/a/b:1", True),
        ("q.io/a/b:2", False),
        (f"q.io/a/b@{DIGEST}", True),
        (f"q.io/a/b:2@{DIGEST}", True),
        (f"q.io:5000/a/b@{DIGEST}", False),
    ],
)
def test_images_are_known_by_tag_or_digest(name: str, there: bool) -> None:  # noqa: FBT001
    image: dict[str, Any] = {"tags": ["q.io/a/b:1"], "digests": [f"q.io/a/b@{DIGEST}"], "size": 1}
    assert (node_images.find_image([image], name) is not None) is there


def test_sizes_of_ctr_are_bytes_and_what_is_no_size_is_none() -> None:
    assert node_images.bytes_of(["2.5", "MiB"]) == 2_621_440
    assert node_images.bytes_of(["-"]) == 0


def test_of_many_lines_the_last_that_says_something_is_told() -> None:
    assert node_images.reason("E1122 image pull\n\ntime=1 level=fatal msg=x\n\n") == "time=1 level=fatal msg=x"
    assert node_images.reason("\n") == "no reason given"


def test_of_ctr_the_status_is_told_also_where_what_the_registry_says_follows_it() -> None:
    text = "level=warning msg=old\nctr: failed to resolve image: 403 Forbidden\nunknown: no\nunknown: no\n"
    assert re.fullmatch("failed .* 403 Forbidden; unknown: no", node_images.reason(text))


LOGINS = [
    {"registry": "own.lan:5000", "username": "robot", "password": "hun:ter2"},
    {"registry": "quay.io", "username": "me", "password": "other"},
]


def client(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name that writes down its arguments and its login, in place of all others."""
    program = put(
        folder, f"bin/{name}", f'#!/bin/sh\necho "$@" > {folder}/asked\necho "$CRICTL_AUTH" >> {folder}/asked\n'
    )
    program.chmod(0o755)
    put(folder, "run/containerd/containerd.sock")
    monkeypatch.setattr(node_images, "find_program", lambda word: str(program) if word == name else "")
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    return folder / "asked"


@pytest.mark.parametrize(
    ("name", "login"),
    [("own.lan:5000/a/b:1", "cm9ib3Q6aHVuOnRlcjI="), ("quay.io/a:1", "bWU6b3RoZXI="), ("docker.io/library/a:1", "")],
)
def test_crictl_gets_the_login_of_the_images_registry_and_never_as_an_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, login: str
) -> None:
    asked = client(tmp_path, "crictl", monkeypatch)
    assert kfv_pull.authorization(name, LOGINS) == login
    assert node_images.NodeRuntime().pull(name, 10, login) == ""
    arguments, found = asked.read_text().splitlines()
    assert arguments.endswith(f"pull {name}")
    assert found == login


def test_ctr_takes_no_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = client(tmp_path, "ctr", monkeypatch)
    assert "install crictl" in node_images.NodeRuntime().pull("own.lan:5000/a:1", 10, "cm9ib3Q6eA==")
    assert not asked.exists()
    assert node_images.NodeRuntime().pull("own.lan:5000/a:1", 10) == ""
