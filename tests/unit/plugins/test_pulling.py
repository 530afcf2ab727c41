"""What kfv_pull_host makes of the files and the output of programs that it finds on a node."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.places import ROOT

DIGEST = f"sha256:{'a' * 64}"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, which looks for sockets and for the kubelet's files below `tmp_path` alone."""
    spec = importlib.util.spec_from_file_location("kfv_pull_host", ROOT / "plugins/modules/kfv_pull_host.py")
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    for name in ("DOCKER", "SOCKETS", "KUBELET"):
        monkeypatch.setattr(loaded, name, tuple(f"{tmp_path}{path}" for path in getattr(loaded, name)))
    return loaded


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
def test_the_kubelets_own_word_goes_before_sockets_that_lie_about(
    module: ModuleType, tmp_path: Path, name: str, text: str
) -> None:
    put(tmp_path, "run/cri-dockerd.sock")
    put(tmp_path, name, text.format(socket="/run/own/containerd.sock"))
    assert module.find_socket() == "/run/own/containerd.sock"


@pytest.mark.parametrize("socket", ["run/cri-dockerd.sock", "var/run/dockershim.sock"])
def test_docker_is_told_also_where_its_own_containerd_listens(module: ModuleType, tmp_path: Path, socket: str) -> None:
    put(tmp_path, "run/containerd/containerd.sock")
    put(tmp_path, socket)
    with pytest.raises(module.UnusableError, match="the kubelet uses Docker"):
        module.find_socket()


def test_docker_that_the_kubelet_names_is_told(module: ModuleType, tmp_path: Path) -> None:
    put(tmp_path, "var/lib/kubelet/config.yaml", "containerRuntimeEndpoint: unix:///run/cri-dockerd.sock\n")
    with pytest.raises(module.UnusableError, match="the kubelet uses Docker"):
        module.find_socket()


def test_without_any_runtime_the_reason_names_where_it_was_looked_for(module: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(module.UnusableError, match=f"{tmp_path}/run/containerd/containerd.sock"):
        module.find_socket()


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
def test_images_are_known_by_tag_or_digest(module: ModuleType, name: str, there: bool) -> None:  # noqa: FBT001
    image: dict[str, Any] = {"tags": ["q.io/a/b:1"], "digests": [f"q.io/a/b@{DIGEST}"], "size": 1}
    assert module.has(image, name) is there


def test_sizes_of_ctr_are_bytes_and_what_is_no_size_is_none(module: ModuleType) -> None:
    assert module.in_bytes(["2.5", "MiB"]) == 2_621_440
    assert module.in_bytes(["-"]) == 0


def test_of_many_lines_the_last_that_says_something_is_told(module: ModuleType) -> None:
    assert module.last_line("E1122 image pull\n\ntime=1 level=fatal msg=x\n\n") == "time=1 level=fatal msg=x"
    assert module.last_line("\n") == "no reason given"


def test_of_ctr_the_status_is_told_also_where_what_the_registry_says_follows_it(module: ModuleType) -> None:
    text = "level=warning msg=old\nctr: failed to resolve image: 403 Forbidden\nunknown: no\nunknown: no\n"
    assert module.last_line(text) == "failed to resolve image: 403 Forbidden; unknown: no"


def test_a_program_that_takes_too_long_is_ended_and_one_that_is_missing_is_told(module: ModuleType) -> None:
    assert module.run(["sleep", "60"], 0.05) == (124, "", "timed out after 0.05 s")
    assert module.run(["no-such-program"], 5)[0] == 127
