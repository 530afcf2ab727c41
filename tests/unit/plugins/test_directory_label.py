"""What kfv_directory_label makes of paths, rules and labels; tests/hosts runs it with programs that write them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.places import ROOT


def module() -> ModuleType:
    path = ROOT / "plugins" / "modules" / "kfv_directory_label.py"
    spec = importlib.util.spec_from_file_location("kfv_directory_label_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


MODULE = module()


def test_a_pattern_means_the_directory_and_all_below_it_and_nothing_beside_it() -> None:
    pattern = MODULE.pattern_of("/data/k8s.d+(1)")
    assert re.fullmatch(pattern, "/data/k8s.d+(1)")
    assert re.fullmatch(pattern, "/data/k8s.d+(1)/pvc-1/x")
    assert not re.fullmatch(pattern, "/data/k8sxd+(1)")
    assert not re.fullmatch(pattern, "/data/k8s.d+(1)x")


def test_a_plain_path_stays_as_semanage_lists_it() -> None:
    assert MODULE.pattern_of("/opt/local-path-provisioner") == "/opt/local-path-provisioner(/.*)?"


LISTED = """/srv/x(/.*)?                                       all files          system_u:object_r:usr_t:s0
/data/k8s(/.*)?                                    all files          system_u:object_r:container_file_t:s0
"""


@pytest.mark.parametrize(
    ("path", "kind"), [("/data/k8s", "container_file_t"), ("/srv/x", "usr_t"), ("/data", ""), ("/data/k8s/x", "")]
)
def test_an_own_rule_is_found_by_its_whole_pattern(path: str, kind: str) -> None:
    assert MODULE.rule_type(LISTED, MODULE.pattern_of(path)) == kind


def test_without_selinux_in_the_kernel_it_is_disabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_ENFORCE", tmp_path / "enforce")
    assert MODULE.mode() == "disabled"
    for text, mode in (("1", "enforcing"), ("0\n", "permissive")):
        (tmp_path / "enforce").write_text(text)
        assert MODULE.mode() == mode


def test_a_directory_without_a_label_has_none(tmp_path: Path) -> None:
    assert MODULE.label_of(str(tmp_path / "none")) == ""
