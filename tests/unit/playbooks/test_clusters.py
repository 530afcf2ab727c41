"""Several clusters in one inventory, none of which can be reached: what is begun, and how the run ends."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.playing import ansible

pytestmark = pytest.mark.programs

GROUPS: dict[str, Any] = {"clusters": {"eu": {}, "us": {}}}


def play(place: Path, name: str, *arguments: str, groups: dict[str, Any]) -> tuple[int, str]:
    """Exit code and output of a playbook; the output has no line breaks within messages."""
    common = {
        "ansible_connection": "local",
        "kubeflow_kubeconfig": str(place / "nowhere"),
        "validation_select": ["A1"],
        "validation_report_directory": str(place / "reports"),
    }
    children = {group: {"hosts": hosts} for group, hosts in groups.items()}
    (place / "hosts.json").write_text(json.dumps({"all": {"vars": common, "children": children}}), "utf-8")
    playbook = f"playbooks/{name}.yml"
    done = ansible("-i", place / "hosts.json", playbook, *arguments, merged=True, COLUMNS="400")
    assert "Traceback" not in done.stdout
    return done.returncode, done.stdout


def begun(output: str) -> list[str]:
    """Clusters whose turn came, in their order."""
    return re.findall(r"TASK \[Begin with this cluster\] \*+\nok: \[(.*)\]", output)


def table(place: Path) -> list[tuple[str, str, str]]:
    document = json.loads((place / "reports/clusters-latest.json").read_text("utf-8"))
    return [(item["name"], item["rollout"], item["verdict"]) for item in document["clusters"]]


def test_no_cluster_is_begun_after_one_that_failed_and_one_table_has_all(tmp_path: Path) -> None:
    code, output = play(tmp_path, "site", "--tags", "volcano,validate", groups=GROUPS)

    assert code == 2
    assert begun(output) == ["eu"]
    assert "usable credentials" in output
    assert table(tmp_path) == [("eu", "failed", "incomplete"), ("us", "not begun", "incomplete")]
    assert "Not begun: " in output


def test_no_cluster_is_upgraded_after_one_whose_upgrade_could_not_be_planned(tmp_path: Path) -> None:
    code, output = play(tmp_path, "upgrade", "--skip-tags", "kustomize", groups=GROUPS)

    assert code == 2
    assert begun(output) == ["eu"]
    assert output.count("TASK [upgrade : Plan the upgrade]") == 1
    assert table(tmp_path) == [("eu", "not begun", "incomplete"), ("us", "not begun", "incomplete")]


def test_a_batch_may_have_several_clusters(tmp_path: Path) -> None:
    more: dict[str, Any] = {"clusters": {"eu": {}, "us": {}, "ap": {}}}
    code, output = play(tmp_path, "install", "--tags", "volcano", "-e", "clusters_serial=2", groups=more)

    assert code == 2
    assert "no usable credentials" in output
    assert re.findall(r"^(\w+) +: .*rescued=[1-9]", output, re.MULTILINE) == ["eu", "us"]
    assert len(re.findall(r"^\w+ +: .*failed=1", output, re.MULTILINE)) == 3


@pytest.mark.parametrize("name", ["install", "upgrade"])
def test_wrong_settings_of_the_last_cluster_keep_the_first_from_being_begun(name: str, tmp_path: Path) -> None:
    wrong = {"clusters": {"eu": {}, "us": {"kubeflow_release": "9.9.9"}}}

    code, output = play(tmp_path, name, groups=wrong)

    assert code == 2
    assert "9.9.9" in output
    assert begun(output) == []
    assert len(re.findall(r"^TASK", output, re.MULTILINE)) == 1


def test_with_a_limit_the_others_are_neither_begun_nor_missed(tmp_path: Path) -> None:
    code, output = play(tmp_path, "site", "--tags", "volcano,validate", "--limit", "us", groups=GROUPS)

    assert code == 2
    assert begun(output) == ["us"]
    assert table(tmp_path) == [("us", "failed", "incomplete")]


@pytest.mark.parametrize(("name", "reason"), [("site", "whose hosts they are"), ("uninstall", "works on one cluster")])
def test_what_is_about_one_cluster_is_refused(name: str, reason: str, tmp_path: Path) -> None:
    code, output = play(tmp_path, name, groups={**GROUPS, "nodes": {"worker-1": {}}})

    assert code == 2
    assert reason in " ".join(output.split())
    assert len(re.findall(r"^TASK", output, re.MULTILINE)) == 1
