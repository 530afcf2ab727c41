"""playbooks/hosts.yml: what may spread goes node by node, the control plane last; every part has a tag of its own."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from ansible import constants
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader

from tests.places import ROOT
from tests.playing import ansible

PLAYS: list[dict[str, Any]] = yaml.safe_load((ROOT / "playbooks/hosts.yml").read_text("utf-8"))
ON_HOSTS = [play for play in PLAYS if "tasks" in play and play["hosts"] != "localhost"]
LOOKING: list[dict[str, Any]] = yaml.safe_load((ROOT / "playbooks/preflight.yml").read_text("utf-8"))
OPENING = [play for play in (*LOOKING, *ON_HOSTS) if "control_plane" in play["hosts"]]
FIRST, LAST = "containerd_restart_first", "containerd_restart_last"


def hosts_of(play: dict[str, Any], groups: set[str]) -> str:
    """The play's pattern where these groups exist."""
    environment = jinja2.Environment(autoescape=False)  # noqa: S701  no HTML
    environment.filters["kubeflow_volcano.platform.selected"] = lambda pattern, *_, **__: pattern
    return environment.from_string(play["hosts"]).render(groups=groups)


def names_of(pattern: str, groups: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that Ansible takes; a pattern that names what is not there is an error."""
    monkeypatch.setattr(constants, "HOST_PATTERN_MISMATCH", "error")
    inventory = InventoryManager(loader=DataLoader(), parse=False)
    for name, group in groups.items():
        inventory.add_group(name)
        for host in group["hosts"]:
            inventory.add_host(host, name)
    inventory.reconcile_inventory()
    return [host.name for host in inventory.get_hosts(pattern)]


def test_site_is_preflight_hosts_and_an_install_that_is_validated_in_this_order() -> None:
    imports = yaml.safe_load((ROOT / "playbooks/site.yml").read_text("utf-8"))
    names = [item["ansible.builtin.import_playbook"] for item in imports]
    assert names == ["preflight.yml", "hosts.yml", "install.yml"]
    assert imports[-1]["vars"] == {"__install_is_validated": True}


def test_containerd_restarts_on_one_node_at_a_time_and_on_the_control_plane_last() -> None:
    restarts = [play for play in ON_HOSTS if "containerd_restart" in play["hosts"]]
    assert [hosts_of(play, {FIRST, LAST}) for play in restarts] == [FIRST, LAST]
    how = [(play["serial"], play["order"], play["any_errors_fatal"]) for play in restarts]
    assert how == [(1, "sorted", True)] * 2  # the groups have their hosts in the order in which these answered


def test_what_is_read_at_each_pull_is_tried_on_one_node_before_all_others() -> None:
    (play,) = [play for play in ON_HOSTS if "containerd_reload" in play["hosts"]]
    assert (play["serial"], play["any_errors_fatal"]) == ([1, "100%"], True)
    assert hosts_of(play, {"containerd_reload_last"}) == "containerd_reload_last"


@pytest.mark.parametrize("play", ON_HOSTS, ids=lambda play: str(play["name"]))
def test_without_hosts_to_work_on_a_pattern_matches_none_and_names_no_group_that_is_not_there(
    play: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names_of(hosts_of(play, set()), {"here": {"hosts": {"localhost": {}}}}, monkeypatch) == []


SHARED: dict[str, Any] = {
    "control_plane": {"hosts": {"master": {}}},
    "nodes": {"hosts": {"master": {}, "worker": {}, "localhost": {}}},
    "databases": {"hosts": {"database": {}}},
}


@pytest.mark.parametrize("groups", [{"control_plane", "nodes"}, {"nodes"}], ids=lambda groups: "+".join(sorted(groups)))
@pytest.mark.parametrize("play", OPENING, ids=lambda play: str(play["name"]))
def test_hosts_of_other_groups_are_left_alone(
    play: dict[str, Any], groups: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {name: SHARED[name] for name in (*groups, "databases")} | {"others": {"hosts": {"bastion": {}}}}
    assert sorted(names_of(hosts_of(play, groups), known, monkeypatch)) == ["master", "worker"]


@pytest.mark.programs
@pytest.mark.parametrize(
    ("empty", "playbook"),
    [
        pytest.param({}, "hosts", id="without-groups-hosts"),
        pytest.param({"nodes": {}}, "preflight", id="with-empty-groups-preflight"),
        pytest.param({}, "preflight", id="without-groups-preflight", marks=pytest.mark.long),
        pytest.param({"nodes": {}}, "hosts", id="with-empty-groups-hosts", marks=pytest.mark.long),
    ],
)
def test_hosts_that_are_left_alone_are_listed_and_no_run_is_about_them_alone(
    empty: dict[str, Any], playbook: str, tmp_path: Path
) -> None:
    """An installation may say that others look after the hosts: then the groups are there and empty."""
    here = {"localhost": {"ansible_connection": "local"}, "bastion": {}}
    inventory = tmp_path / "hosts.json"
    children = {"databases": SHARED["databases"], **empty}
    inventory.write_text(json.dumps({"all": {"hosts": here, "children": children}}), "utf-8")

    def play(*arguments: str) -> subprocess.CompletedProcess[str]:
        return ansible("-i", inventory, f"playbooks/{playbook}.yml", *arguments)

    alone = play()
    assert alone.returncode == 2, alone.stdout
    assert "(bastion, database)" in alone.stdout

    part = play("-e", "__hosts_are_optional=true")  # as site.yml says
    assert part.returncode == (0 if empty else 2), part.stdout
    listed = "left alone, because they are in neither control_plane nor nodes: bastion, database\n" in part.stdout
    assert listed is bool(empty)


@pytest.mark.parametrize("play", ON_HOSTS, ids=lambda play: str(play["name"]))
def test_a_play_on_hosts_becomes_root_and_gathers_no_facts_that_nobody_reads(play: dict[str, Any]) -> None:
    assert (play["become"], play["gather_facts"]) == (True, False)


def test_every_part_has_the_tag_of_all_and_one_of_its_own_which_the_guide_names() -> None:
    tags = [task["tags"] for play in ON_HOSTS for task in play["tasks"]]
    guide = (ROOT / "docs/hosts.md").read_text("utf-8")

    assert {first for first, *_ in tags} == {"hosts"}
    named = set(re.findall(r"^\| `(\w+)` \| .* \| .* \| .* \|$", guide, re.MULTILINE))
    assert {tag for _, *own in tags for tag in own} == named


def test_files_and_playbooks_that_the_guide_names_are_there() -> None:
    guide = (ROOT / "docs/hosts.md").read_text("utf-8")
    named = set(re.findall(r"(?:playbooks|inventory|requirements)/[\w./-]+\w", guide)) - {"inventory/mine"}
    linked = {f"docs/{link}" for link in re.findall(r"\]\(([^)#]+)", guide)}
    assert len(named) > 5
    assert [name for name in named | linked if not (ROOT / name).exists()] == []
