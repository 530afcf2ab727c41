"""Playbooks as a person meets them: they parse with every inventory, and wrong settings stop them whole and at once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.playing import ansible

pytestmark = pytest.mark.programs

PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
INVENTORIES = sorted(path for path in (ROOT / "inventory").iterdir() if path.is_dir())
WRONG = {
    "volcano_verison": "1.10.0",
    "volcano_version": 1.1,
    "kubeflow_release": "9.9.9",
    "kubeflow_wait_timeout_seconds": -5,
    "local_path_storage_mode": "existng",
    "gang_scheduling_scheduler": "{{ nobody_defined_this }}",
    "validation_select": ["storge"],
}


def test_there_are_playbooks_and_inventories() -> None:
    assert {path.stem for path in PLAYBOOKS} >= {"site", "install", "validate", "rehearsal"}
    assert {path.name for path in INVENTORIES} >= {"rehearsal", "sample"}


@pytest.mark.parametrize(
    "inventory",
    [
        pytest.param(path, marks=() if path.name in {"sample", "several-clusters"} else pytest.mark.long)
        for path in INVENTORIES
    ],
    ids=lambda path: path.name,
)
def test_every_playbook_parses_with_every_inventory(inventory: Path, tmp_path: Path) -> None:
    done = ansible("--syntax-check", "-i", inventory, *PLAYBOOKS, XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize(
    "playbook",
    [
        "install.yml",
        "rehearsal.yml",
        *(
            pytest.param(f"{name}.yml", marks=pytest.mark.long)
            for name in ("site", "preflight", "hosts", "validate", "uninstall")
        ),
    ],
)
def test_wrong_settings_are_all_told_at_once_and_nothing_is_touched(playbook: str, tmp_path: Path) -> None:
    done = ansible(
        "-i",
        ROOT / "inventory/rehearsal",
        f"playbooks/{playbook}",
        "-e",
        json.dumps(WRONG),
        XDG_CACHE_HOME=str(tmp_path),
    )  # fmt: skip  one command line

    told = done.stdout + done.stderr
    assert done.returncode == 2
    for name in (*WRONG.keys() - {"validation_select"}, "storge"):
        assert name in told, name
    assert "Did you mean volcano_version?" in told
    assert "Traceback" not in told
    assert len(re.findall(r"^TASK", done.stdout, re.MULTILINE)) == 1
    assert "changed=0" in done.stdout
    assert list(tmp_path.iterdir()) == []
    message = done.stdout.partition("fatal:")[2]
    counts = {part: len(re.findall(rf"\b{part}:", message)) for part in ("Found", "Needed", "Do")}
    assert set(counts.values()) == {len(WRONG)}, message


def test_the_rehearsal_inventory_follows_the_cache_and_the_name_of_the_cluster(tmp_path: Path) -> None:
    done = ansible(
        "localhost",
        "-i",
        ROOT / "inventory/rehearsal",
        "-e",
        "rehearsal_cluster_name=other",
        "-m",
        "ansible.builtin.debug",
        "-a",
        "var=kubeflow_kubeconfig",
        program="ansible",
        XDG_CACHE_HOME=str(tmp_path),
    )  # fmt: skip  one command line

    assert f"{tmp_path}/kubeflow-volcano/rehearsal/other/admin.kubeconfig" in done.stdout


def test_a_kubeconfig_that_is_not_there_is_told_without_a_traceback(tmp_path: Path) -> None:
    done = ansible(
        "-i",
        ROOT / "inventory/sample",
        "playbooks/install.yml",
        "--tags",
        "volcano",
        "-e",
        f"kubeflow_kubeconfig={tmp_path}/nowhere",
        XDG_CACHE_HOME=str(tmp_path),
    )  # fmt: skip  one command line

    assert done.returncode == 2
    assert "usable credentials" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_cluster_that_cannot_be_reached_is_incomplete_and_the_report_says_so(tmp_path: Path) -> None:
    done = ansible(
        "-i",
        ROOT / "inventory/sample",
        "playbooks/validate.yml",
        "-e",
        f"kubeflow_kubeconfig={tmp_path}/nowhere",
        "-e",
        f"validation_report_directory={tmp_path}/reports",
        XDG_CACHE_HOME=str(tmp_path),
    )  # fmt: skip  one command line

    report = json.loads((tmp_path / "reports/latest.json").read_text("utf-8"))
    assert done.returncode == 2
    assert "exit code 3" in done.stdout
    assert report["summary"]["pass"] == 0


SAMPLE = ROOT / "inventory/sample"
EXAMPLE = re.compile(r"^( *)# ([a-z0-9_-]+:(?: .*)?|  ansible_host: .*|  kubeflow_node_name: .*)$", re.MULTILINE)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """The sample with every example in it made true."""
    place = tmp_path / "mine"
    (place / "group_vars").mkdir(parents=True)
    for file in (SAMPLE / "hosts.yml", *(SAMPLE / "group_vars").glob("[!a]*.yml")):
        text = EXAMPLE.sub(r"\1\2", file.read_text("utf-8"))
        (place / file.relative_to(SAMPLE)).write_text(text, "utf-8")
    return place


def test_the_hosts_of_the_sample_s_examples_are_found_in_their_groups(filled: Path, tmp_path: Path) -> None:
    done = ansible("-i", filled, "--list", program="ansible-inventory", XDG_CACHE_HOME=str(tmp_path))
    groups = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert groups["control_plane"]["hosts"] == ["master-1"]
    assert groups["nodes"] == {"children": ["big_disks"], "hosts": ["worker-1", "worker-2", "arm-1"]}
    known = groups["_meta"]["hostvars"]
    assert known["storage-1"]["local_path_base_directory"] == "/data/k8s"
    assert known["worker-2"]["kubeflow_node_name"] == "worker-2.example.org"
    assert known["master-1"]["ansible_user"] == "ops"
    assert "ansible_user" not in known["localhost"]


def test_the_settings_of_the_sample_s_examples_are_accepted(filled: Path, tmp_path: Path) -> None:
    done = ansible("localhost", "-i", filled, "-m", "kfv_settings", program="ansible", XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("inventory", ["existing-cluster", "rehearsal", "sample"])
def test_without_hosts_their_plays_are_skipped_in_a_line_each_and_without_a_warning(
    inventory: str, tmp_path: Path
) -> None:
    done = ansible("-i", ROOT / "inventory" / inventory, "playbooks/hosts.yml", XDG_CACHE_HOME=str(tmp_path))

    assert (done.returncode, done.stderr) == (0, "")
    assert "WARNING" not in done.stdout
    plays = re.findall(r"^no hosts for: (.*)$", done.stdout, re.MULTILINE)
    assert len(plays) == 5
    assert len(re.findall(r"^TASK", done.stdout, re.MULTILINE)) == 1
