"""SELinux on a host: its mode, and what is made of paths, rules and labels; tests/hosts has programs that set them."""

from __future__ import annotations

import errno
import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import host_files, selinux


def test_a_pattern_means_the_directory_and_all_below_it_and_nothing_beside_it() -> None:
    pattern = selinux.pattern_of("/data/k8s.d+(1)")
    assert re.fullmatch(pattern, "/data/k8s.d+(1)")
    assert re.fullmatch(pattern, "/data/k8s.d+(1)/pvc-1/x")
    assert not re.fullmatch(pattern, "/data/k8sxd+(1)")
    assert not re.fullmatch(pattern, "/data/k8s.d+(1)x")


def test_a_plain_path_stays_as_semanage_lists_it() -> None:
    assert selinux.pattern_of("/opt/local-path-provisioner") == "/opt/local-path-provisioner(/.*)?"


LISTED = """/srv/x(/.*)?                                       all files          system_u:object_r:usr_t:s0
/data/k8s(/.*)?                                    all files          system_u:object_r:container_file_t:s0
"""


@pytest.mark.parametrize(
    ("path", "kind"), [("/data/k8s", "container_file_t"), ("/srv/x", "usr_t"), ("/data", ""), ("/data/k8s/x", "")]
)
def test_an_own_rule_is_found_by_its_whole_pattern(path: str, kind: str) -> None:
    assert selinux.rule_type(LISTED, selinux.pattern_of(path)) == kind


def test_without_selinux_in_the_kernel_it_is_disabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "ROOT", str(tmp_path))
    enforce = tmp_path / "sys/fs/selinux/enforce"
    assert selinux.mode() == "disabled"
    enforce.parent.mkdir(parents=True)
    for text, mode in (("1", "enforcing"), ("0\n", "permissive")):
        enforce.write_text(text)
        assert selinux.mode() == mode


def test_a_mode_that_cannot_be_read_is_not_taken_for_disabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "ROOT", str(tmp_path))
    (tmp_path / "sys/fs/selinux/enforce").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        selinux.mode()


def test_a_directory_without_a_label_has_none(tmp_path: Path) -> None:
    assert selinux.label_of(str(tmp_path / "none")) == ""


@pytest.mark.parametrize(("error", "known"), [(0, "known"), (errno.EINVAL, "unknown"), (errno.EACCES, "known")])
def test_the_kernel_says_whether_its_policy_has_a_type(error: int, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    class Question(io.BytesIO):
        def write(self, text: Any) -> int:
            asked.append(bytes(text))
            if error:
                raise OSError(error, "no")
            return len(text)

    monkeypatch.setattr(selinux, "place", lambda path: SimpleNamespace(open=lambda *_, **__: Question(path.encode())))
    assert selinux.is_known("container_file_t") is (known == "known")
    assert asked == [b"system_u:object_r:container_file_t:s0"]


def test_a_kernel_that_cannot_be_asked_leaves_it_to_semanage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "ROOT", str(tmp_path))
    assert selinux.is_known("container_file_t")
