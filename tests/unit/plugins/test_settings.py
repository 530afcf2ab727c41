"""kfv_settings on localhost judges what the inventory says about every other host, before any of them is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.playing import ansible

pytestmark = pytest.mark.programs

PASSED = """
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action


class ActionModule(Action):
    ARGUMENTS = {"settings": {"type": "dict"}}

    def answer(self, arguments):
        settings = self.settings_with_secrets(arguments["settings"])
        assert settings.source.startswith("http://me:hunter2@"), "the login is lost"
        assert settings.kustomize_mirrors == ("http://me:hunter2@127.0.0.1:9",), "the login is lost"
        assert "katib" in settings.patches, "the patch is lost"
        return {}
"""


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    """Fifty hosts that nobody could reach, and localhost."""
    names = {f"node-{number:02}": {"ansible_host": "192.0.2.1"} for number in range(1, 51)}
    groups = {"control_plane": {"hosts": {"node-01": {}}}, "nodes": {"hosts": names}}
    here = {"localhost": {"ansible_connection": "local"}}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": here, "children": groups}}), "utf-8")
    return tmp_path


def say(inventory: Path, place: str, **variables: Any) -> None:
    file = inventory / f"{place}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(variables), "utf-8")


def judged(inventory: Path, play: dict[str, Any] | None = None, *, whole_output: bool = False) -> str:
    playbook = inventory / "play.yml"
    whole = {"hosts": "localhost", "gather_facts": False, "tasks": [{"kfv_settings": {}}], **(play or {})}
    playbook.write_text(json.dumps([whole]), "utf-8")
    done = ansible("-i", inventory / "hosts.json", playbook)
    assert "Traceback" not in done.stdout + done.stderr
    assert (done.returncode == 0) == ("Found:" not in done.stdout)
    return done.stdout if whole_output else done.stdout.partition("msg: ")[2]


def test_hosts_that_say_nothing_are_fine(inventory: Path) -> None:
    say(inventory, "group_vars/all", kubeflow_release="1.8.1", local_path_base_directory="/data")
    assert judged(inventory) == ""


def test_every_mistake_about_hosts_is_told_at_once_and_those_of_many_hosts_once(inventory: Path) -> None:
    say(inventory, "group_vars/nodes", local_path_base_dir="/data", image_mirror_allow_list="{{ nobody_knows }}")
    say(inventory, "host_vars/node-07", local_path_base_directory="relative")

    told = judged(inventory)

    assert told.count("Found:") == told.count("Needed:") == told.count("Do:") == 3
    assert "on all 50 hosts: the variable local_path_base_dir, which nothing reads." in told
    assert "Did you mean local_path_base_directory?" in told
    assert "and 45 more: the variable image_mirror_allow_list cannot be evaluated: 'nobody_knows' is undefined" in told
    assert "on node-07: local_path_base_directory is " in told


def test_a_problem_is_printed_once(inventory: Path) -> None:
    """Ansible prints the message of a failed task twice, from 2.19 on."""
    say(inventory, "group_vars/all", kubflow_profile="full")
    told = judged(inventory, whole_output=True)
    assert told.count("Did you mean kubeflow_profile?") == 1
    assert told.count("Found:") == 1


def test_a_mistake_for_all_is_not_repeated_for_each_host(inventory: Path) -> None:
    say(inventory, "group_vars/all", volcano_verison="1.10.0", plan_directory="{{ nobody_knows }}")
    told = judged(inventory)
    assert told.count("volcano_verison, which nothing reads") == 1
    assert told.count("plan_directory cannot be evaluated") == 1


def test_variables_of_a_shared_inventory_that_only_begin_like_ours_are_left_alone(inventory: Path) -> None:
    shared = {"backup_retention": "30d", "plan_owner": "{{ nobody_knows }}", "validation_token": "hunter2"}
    say(inventory, "group_vars/all", **shared)
    tasks: list[dict[str, Any]] = [
        {"kfv_settings": {"list_others": True}, "register": "found"},
        {"ansible.builtin.assert": {"that": f"found.settings | list | intersect({sorted(shared)}) == []"}},
    ]
    said = judged(inventory, {"tasks": tasks}, whole_output=True)
    note = "not read, because they are no variables of kubeflow_volcano.platform: "
    assert f"{note}backup_retention, plan_owner, validation_token\n" in said
    assert "hunter2" not in said
    assert note not in judged(inventory, whole_output=True)


def test_templates_are_worked_out_for_the_host_that_they_belong_to(inventory: Path) -> None:
    say(inventory, "group_vars/nodes", kubeflow_node_name="{{ inventory_hostname }}.example.org")
    assert judged(inventory) == ""


def test_a_play_may_set_a_setting_of_the_cluster_for_itself(inventory: Path) -> None:
    say(inventory, "group_vars/all", gang_scheduling_scheduler="volcano")
    assert judged(inventory, {"vars": {"gang_scheduling_scheduler": "none"}}) == ""


def test_a_setting_of_the_cluster_that_only_hosts_have_is_told_as_having_no_effect(inventory: Path) -> None:
    say(inventory, "group_vars/nodes", kubeflow_release="1.8.1")
    assert "on all 50 hosts: the variable kubeflow_release has another value" in judged(inventory)


def test_a_task_on_a_host_judges_that_host_alone(inventory: Path) -> None:
    say(inventory, "host_vars/node-07", local_path_base_directory="relative")
    assert judged(inventory, {"hosts": "node-08"}) == ""
    assert "local_path_base_directory is " in judged(inventory, {"hosts": "node-07"})


def test_hosts_outside_of_the_cluster_may_have_variables_of_the_same_names(inventory: Path) -> None:
    content = json.loads((inventory / "hosts.json").read_text("utf-8"))
    content["all"]["children"]["others"] = {"hosts": {"database": {"kubeflow_release": "0.1"}}}
    (inventory / "hosts.json").write_text(json.dumps(content), "utf-8")
    assert judged(inventory) == ""


def test_logins_in_addresses_are_in_no_output_and_still_reach_the_task_that_needs_them(
    inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    address = "http://me:hunter2@127.0.0.1:9"
    say(
        inventory,
        "group_vars/all",
        kubeflow_source=f"{address}/x.tar.gz#sha256={'0' * 64}",
        kustomize_mirrors=[address],
        kubeflow_kubeconfig="/nonexistent",
        kustomize_version="5.4.3",
    )
    tasks: list[dict[str, Any]] = [
        {"kfv_settings": {}, "register": "found"},
        {"kfv_passed": {"settings": "{{ found.settings }}"}},
    ]
    (inventory / "action_plugins").mkdir()
    patch = {
        "target": {"kind": "Deployment", "name": "katib-ui"},
        "patch": {"metadata": {"annotations": {"a": "hunter2"}}},
    }
    say(
        inventory,
        "host_vars/localhost",
        kubeflow_patches={"katib": [patch]},
        kubeflow_profile="full",
        kubeflow_user_password="hunter2-first",  # noqa: S106  planted
        kubeflow_users=[{"email": "a@b.lan", "password": "hunter2-user"}],
        kubeflow_connectors=[
            {
                "type": "ldap",
                "id": "a",
                "name": "A",
                "config": {
                    "host": "a.lan:636",
                    "bindDN": "cn=a",
                    "bindPW": "hunter2-client",
                    "userSearch": {"baseDN": "a", "username": "uid", "idAttr": "uid", "emailAttr": "mail"},
                },
            }
        ],
        image_mirror_credentials=[{"registry": "a.lan", "username": "me", "password": "hunter2-login"}],
    )
    (inventory / "action_plugins/kfv_passed.py").write_text(PASSED, "utf-8")
    (inventory / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    done = ansible("-vvv", "-i", "hosts.json", "play.yml", cwd=inventory)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    assert "http://***@127.0.0.1:9" in done.stdout


@pytest.mark.parametrize(
    "patches",
    [
        {"katib": [{"target": {}, "patch": "hunter2"}]},
        *(pytest.param(shape, marks=pytest.mark.long) for shape in ("hunter2", ["hunter2"], {"katib": "hunter2"})),
    ],
    ids=str,
)
def test_patches_of_another_shape_are_told_without_what_they_set(inventory: Path, patches: Any) -> None:
    say(inventory, "group_vars/all", kubeflow_patches=patches)
    told = judged(inventory)
    assert "kubeflow_patches" in told
    assert "hunter2" not in told


def test_a_password_that_is_no_template_is_told_without_it(inventory: Path) -> None:
    broken = {"kubeflow_user_password": "hunter2{{", "kubeflow_source": "http://me:hunter2@a/{{"}
    say(inventory, "group_vars/all", **broken)
    told = judged(inventory)
    assert "the variable kubeflow_user_password cannot be evaluated." in told
    assert "the variable kubeflow_source cannot be evaluated: " in told
    assert "hunter2" not in told
