"""Repairs of a host: what they would do is told by every Python, and lines of others are only commented."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ansible
import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.modules import kfv_host_repair as module
from tests.places import ROOT

pytestmark = pytest.mark.programs

PYTHONS = [*sorted((Path.home() / ".pyenv/versions").glob("3.9.*/bin/python3")), Path(sys.executable)]
LIVE = Path("/proc/sys/kernel/panic")


def run(python: Path, repairs: list[dict[str, Any]], *, check: bool = True) -> dict[str, Any]:
    arguments = {"repairs": repairs, "_ansible_check_mode": check, "_ansible_diff": True}
    done = subprocess.run(
        [python, "-m", "plugins.modules.kfv_host_repair"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        env=os.environ | {"PYTHONPATH": f"{Path(ansible.__file__).parents[1]}:{ROOT}"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
def test_check_mode_tells_all_and_touches_nothing(python: Path) -> None:
    before = LIVE.read_text("utf-8")
    wanted = str(int(before) + 7)
    answer = run(
        python, [{"kind": "module", "name": "kfv_none"}, {"kind": "sysctl", "name": "kernel.panic", "value": wanted}]
    )
    assert answer["changed"] is True
    assert answer["done"] == [
        "load kfv_none at boot",
        "load kfv_none",
        "set kernel.panic at boot",
        f"set kernel.panic to {wanted}",
    ]
    assert [item["after_header"] for item in answer["diff"]] == [
        "/etc/modules-load.d/zz-kubeflow-volcano.conf",
        "now",
        "/etc/sysctl.d/zz-kubeflow-volcano.conf",
        "now",
    ]
    assert LIVE.read_text("utf-8") == before
    assert not Path("/etc/sysctl.d/zz-kubeflow-volcano.conf").exists()


@pytest.mark.parametrize(
    "repair",
    [
        {"kind": "module", "name": "overlay\ninstall evil"},
        {"kind": "module"},
        {"kind": "sysctl", "name": "../../etc/passwd", "value": "1"},
        {"kind": "sysctl", "name": "kernel.panic", "value": "1\nkernel.sysrq=1"},
    ],
)
def test_what_is_no_name_is_refused(repair: dict[str, Any]) -> None:
    answer = run(Path(sys.executable), [repair], check=False)
    assert answer["failed"] is True
    assert " a repair. Needed:" in answer["msg"]


def test_only_wrong_lines_are_commented_and_kept_as_they_were() -> None:
    text = "# net.ipv4.ip_forward=0\nnet.ipv4.ip_forward = 0\n net/ipv4/ip_forward=1\nkernel.panic=5\n"
    after, lines = module.commented(text, lambda line: module.contradicts(line, {"net.ipv4.ip_forward": "1"}))
    assert lines == ["net.ipv4.ip_forward = 0"]
    assert after == text.replace("\nnet.ipv4", "\n# kubeflow-volcano repair: net.ipv4")


def test_a_last_line_without_its_end_is_kept_so() -> None:
    after, lines = module.commented("a swap", lambda line: "swap" in line)
    assert (after, lines) == ("# kubeflow-volcano repair: a swap", ["a swap"])
