"""What programs and files of a host say in JSON of another shape, too deep or cut off is an error with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import (
    containerd_files,
    containerd_service,
    foreign,
    kubelet,
    node_images,
)
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.programs import Finished
from ansible_collections.kubeflow_volcano.platform.plugins.modules import kfv_host_repair

DEEP = "[" * 100_000
DEEP_MAPPINGS = '{"a":' * 100_000
ODD = [DEEP, DEEP_MAPPINGS, "", "null", "1", '"text"', "[]", "[1]", "{}", '{"images": 1}', '{"images": [null, 1]}']
each = pytest.mark.parametrize("text", ODD, ids=lambda text: text[:9])


@pytest.mark.parametrize("text", [DEEP, DEEP_MAPPINGS, "", "{", " " * 200])
def test_only_json_within_the_limits_is_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "_MOST_CHARACTERS", 199 if text.isspace() else 1 << 20)
    with pytest.raises(ValueError, match=r"many|more than|Expecting"):
        foreign.read_json(text)


@each
def test_a_runtime(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = node_images.NodeRuntime.__new__(node_images.NodeRuntime)
    monkeypatch.setattr(runtime, "client", "crictl", raising=False)
    monkeypatch.setattr(runtime, "_command", lambda *_: [])
    monkeypatch.setattr(node_images, "run", lambda *_: Finished(0, text, ""))
    try:
        assert runtime.images() == []
    except node_images.UnusableError as error:
        assert "something else" in str(error)  # noqa: PT017  both are right
    assert runtime.layers("a") == 0


@pytest.mark.parametrize("text", [*ODD, '{"status": {"conditions": [1, {"type": 1}]}}'], ids=lambda text: text[:9])
def test_containerd(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containerd_service, "run", lambda *_: Finished(0, text, ""))
    assert "something else" in containerd_service.unready() or "status" in text
    assert containerd_service.cri_settings() == {}


@each
def test_files_of_a_host(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(kubelet.settings_of(text), dict)
    monkeypatch.setattr(containerd_files, "JOURNAL", tmp_path / "journal")
    containerd_files.JOURNAL.write_text(text)
    assert containerd_files.unfinished() in ([], [str(containerd_files.JOURNAL)])
    assert containerd_files._noted() == []  # noqa: SLF001  what it says is taken back


def test_a_record_of_repairs_that_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        check_mode = False

        def fail_json(self, **said: Any) -> None:
            raise SystemExit(said["msg"])

    monkeypatch.setattr(kfv_host_repair, "RECORDS", tmp_path)
    (tmp_path / "modules.json").write_text(DEEP)
    with pytest.raises(SystemExit, match=f"{tmp_path}/modules.json .*Restore it"):
        kfv_host_repair.Repairer(Module()).record("modules")
