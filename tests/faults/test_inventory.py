"""Cases 26 to 28: manifests and inventories with mistakes, through the playbook that people run, before any change."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests.render import Renderer
from kubeflow_volcano.rollout.settings.settings import parse
from tests.faults.kit import assert_told, said_by

PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")


def judged(place: Path, inventory: str) -> str:
    """What kfv_settings says of an inventory, through Ansible."""
    (place / "hosts.yml").write_text(inventory, "utf-8")
    (place / "play.yml").write_text(
        json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [{"kfv_settings": {}}]}]), "utf-8"
    )
    done = said_by([PLAYBOOK, "-i", place / "hosts.yml", place / "play.yml"], {"NO_COLOR": "1"})
    assert done.returncode
    return done.stdout + done.stderr


GOOD = b"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n"


@pytest.mark.fault(26)
@pytest.mark.parametrize(
    ("text", "place"),
    [
        (GOOD[:30] + b"\nmetadata: {name: [\n", "m.yaml:4:1"),
        (GOOD + b"kind: Secret\n", "m.yaml:5:1"),
        (GOOD + b"data:\n\ta: b\n", "m.yaml:6:1"),
        (GOOD + b"---\n" + GOOD + b"  name: b\n", "m.yaml:10:3"),
        (GOOD + b"data: \xc3\x28\n", "m.yaml"),
        (GOOD + b"---\njust text\n", "m.yaml"),
    ],
    ids=["truncated", "twice", "tab", "second", "bytes", "none"],
)
def test_manifests_that_are_no_yaml_are_told_with_file_line_and_column(tmp_path: Path, text: bytes, place: str) -> None:
    (tmp_path / "m.yaml").write_bytes(text)
    with pytest.raises(InvalidInput) as caught:
        Renderer(tmp_path / "none", tmp_path / "cache", silent).render({"part": tmp_path / "m.yaml"})
    assert_told(caught.value.problems, place)


@pytest.mark.fault(26)
def test_a_byte_order_mark_and_two_documents_are_read(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD + b"---\n" + GOOD.replace(b"name: a", b"name: b"))
    found = Renderer(tmp_path / "none", tmp_path / "cache", silent).render({"part": tmp_path / "m.yaml"})
    assert [item["metadata"]["name"] for item in found["part"]] == ["a", "b"]


WRONG = """
all:
  hosts:
    localhost: {ansible_connection: local}
  children:
    nodes:
      hosts:
        knöten-1: {ansible_host: 192.0.2.1}
  vars:
    kubeflow_relase: "1.9.1"
    validation_strict: "yes"
    gang_scheduling_schedulers: 1
    rehearsal_cluster_gpu_nodes: "1"
    kubeflow_wait_timeout_seconds: 010.5
    volcano_version:
    kubeflow_components: volcano
"""


@pytest.mark.fault(27)
def test_all_mistakes_of_an_inventory_are_told_at_once_with_the_word_that_was_meant(tmp_path: Path) -> None:
    told = judged(tmp_path, WRONG)
    for name in (
        "kubeflow_relase",
        "Did you mean kubeflow_release?",
        "validation_strict",
        "gang_scheduling_schedulers",
        "rehearsal_cluster_gpu_nodes",
        "volcano_version",
        "kubeflow_components: [volcano]",
    ):
        assert name in told, told
    assert told.count("Found:") == told.count("Needed:") == told.count("Do:") >= 6


@pytest.mark.fault(27)
@pytest.mark.parametrize("value", ["yes", 1, "1", None, [], [True], 0o10, {}], ids=repr)
def test_what_is_no_boolean_is_none(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse({"validation_strict": value, "image_mirror_probe": value})
    assert len(caught.value.problems) == 2
    assert_told(caught.value.problems, "validation_strict", "image_mirror_probe")


UNDEFINED = """
all:
  hosts:
    localhost: {ansible_connection: local}
  vars:
    kubeflow_release: "{{ nobody_knows }}"
    volcano_version: "{{ volcano_version }}"
    plan_directory: "{{ 1 / 0 }}"
    kubeflow_relase: x
"""


@pytest.mark.fault(28)
def test_variables_that_cannot_be_evaluated_are_told_with_all_other_mistakes(tmp_path: Path) -> None:
    told = judged(tmp_path, UNDEFINED)
    for name in ("kubeflow_release cannot be evaluated", "nobody_knows", "volcano_version", "plan_directory"):
        assert name in told, told
    assert "kubeflow_relase" in told
    assert told.count("Found:") == told.count("Do:") >= 4
