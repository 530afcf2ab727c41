"""The checkout as a collection: built, installed elsewhere, and used there by its names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

TOP_LEVEL = {"CHANGELOG.md", "FILES.json", "LICENSE", "MANIFEST.json", "README.md", "docs", "galaxy.yml", "inventory"}
TOP_LEVEL |= {"README.zh-CN.md", "SECURITY.md", "examples", "meta", "playbooks", "plugins", "roles"}

pytestmark = pytest.mark.programs


def run(
    program: str, *arguments: str | Path, cwd: Path, library: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
    if library:
        environment["PYTHONPATH"] = str(library)
    return subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=cwd,
        # Without the search path of Python, on which the checkout itself is a collection.
        env=environment
        | {
            "ANSIBLE_COLLECTIONS_PATH": str(cwd / "collections"),
            "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false",
            "NO_COLOR": "1",
        },
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with nothing in it but the built collection and its installed copy."""
    place = tmp_path_factory.mktemp("collection")
    built = run("ansible-galaxy", "collection", "build", "--output-path", place, ROOT, cwd=place)
    assert built.returncode == 0, built.stdout
    (archive,) = place.glob("*.tar.gz")
    done = run("ansible-galaxy", "collection", "install", "-p", place / "collections", archive, cwd=place)
    assert done.returncode == 0, done.stdout
    return place


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory into which the wheel is installed, without what it requires."""
    place = tmp_path_factory.mktemp("library")
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps", "--no-build-isolation")
    done = run("python", *pip, "--target", place, ROOT, cwd=place)
    assert done.returncode == 0, done.stdout
    return place


@pytest.mark.long
def test_the_wheel_has_one_package_at_its_top_with_all_of_its_data(library: Path) -> None:
    assert [path.name for path in library.iterdir() if not path.name.endswith(".dist-info")] in (
        ["kubeflow_volcano", "bin"],
        ["bin", "kubeflow_volcano"],
    )
    for folder in ("validators", "gang_demo", "examples"):
        wanted = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        brought = {
            path.relative_to(library / "kubeflow_volcano")
            for path in (library / "kubeflow_volcano" / folder).rglob("*")
        }
        assert not {path for path in wanted - brought if "__pycache__" not in path.parts}
    done = subprocess.run(
        [sys.executable, "-m", "kubeflow_volcano.validators", "list"],
        cwd=library,
        env={**os.environ, "PYTHONPATH": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "gang" in done.stdout


def played(installed: Path, library: Path, tasks: list[dict[str, Any]], **play: Any) -> str:
    """What Ansible prints of a play that is in no collection and names none, with the library of the wheel."""
    whole = {"hosts": "localhost", "gather_facts": False, "tasks": tasks, **play}
    (installed / "full.yml").write_text(json.dumps([whole]), "utf-8")
    done = run("ansible-playbook", "-i", "localhost,", "-c", "local", "full.yml", cwd=installed, library=library)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_archive_holds_what_ansible_uses_and_nothing_else(installed: Path) -> None:
    (archive,) = installed.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        top = {Path(name).parts[0] for name in content.getnames()}
    assert top <= TOP_LEVEL
    assert top >= {"README.md", "LICENSE", "README.zh-CN.md", "meta", "playbooks", "plugins", "roles"}


def test_short_plugin_names_in_its_roles_and_playbooks_mean_its_own_plugins(installed: Path) -> None:
    (installed / "play.yml").write_text(
        "- hosts: localhost\n  gather_facts: false\n  roles: [kubeflow_volcano.platform.volcano]\n", "utf-8"
    )
    wrong = ("-i", "localhost,", "-c", "local", "-e", '{"volcano_version": "0.0.1"}')

    as_role = run("ansible-playbook", *wrong, "play.yml", cwd=installed)
    as_playbook = run("ansible-playbook", *wrong, "kubeflow_volcano.platform.site", cwd=installed)

    for done in (as_role, as_playbook):
        assert done.returncode == 2, done.stdout
        assert "'0.0.1', which the catalog" in done.stdout


@pytest.mark.long
def test_modules_that_run_on_hosts_are_found_by_short_names_from_its_roles_and_playbooks(installed: Path) -> None:
    """A name of this machine stands for a host; preflight only looks."""
    (installed / "look.yml").write_text(
        "- hosts: node-1\n  gather_facts: false\n  roles: [kubeflow_volcano.platform.preflight]\n", "utf-8"
    )
    given = {
        "ansible_python_interpreter": sys.executable,
        "kubeflow_kubeconfig": str(installed / "none"),
        "preflight_report_directory": str(installed),
    }
    (installed / "hosts.json").write_text(json.dumps({"nodes": {"hosts": {"node-1": {}}}}), "utf-8")
    host = ("-i", "hosts.json", "-c", "local", "-e", json.dumps(given))

    as_role = run("ansible-playbook", *host, "look.yml", cwd=installed)
    as_playbook = run("ansible-playbook", *host, "kubeflow_volcano.platform.preflight", cwd=installed)

    for done in (as_role, as_playbook):
        assert "preflight: 1 of 1 hosts answered" in done.stdout, done.stdout
        assert "Traceback" not in done.stdout


@pytest.mark.long
@pytest.mark.upstream
def test_a_play_of_ones_own_plans_by_full_names_with_the_wheel_alone(
    installed: Path, library: Path, upstream_dir: Path
) -> None:
    variables = {
        "kubeflow_components": ["local-path"],
        "local_path_version": "0.0.20",
        "local_path_source": str(upstream_dir / "local-path-storage-0.0.20.yaml"),
        "plan_directory": str(installed / "plan"),
    }
    tasks: list[dict[str, Any]] = [
        {"kubeflow_volcano.platform.kfv_settings": {"variables": variables}, "register": "found"},
        {"kubeflow_volcano.platform.kfv_plan": {}},
        {"kubeflow_volcano.platform.kfv_images": {"probe": False}},
    ]
    defaults = {"group/kubeflow_volcano.platform.platform": {"settings": "{{ found.settings }}"}}
    said = played(installed, library, tasks, module_defaults=defaults)
    assert "by no rule" in said
    plan = json.loads((installed / "plan" / "plan.json").read_text("utf-8"))
    assert plan["schema"] == "kfv.plan/v1"
    assert {step["component"] for step in plan["steps"]} == {"local-path"}


@pytest.mark.long
def test_actions_find_their_modules_for_hosts_from_a_play_of_ones_own(installed: Path, library: Path) -> None:
    """A name of this machine stands for a host, whether it has a container runtime or not."""
    names = ("kfv_volumes", "kfv_pull", "kfv_containerd", "kfv_host_preflight")
    given = {
        "kfv_volumes": {"step": "judge", "path": str(installed / "volumes")},
        "kfv_pull": {"step": "list"},
        "kfv_containerd": {"step": "look"},
        "kfv_host_preflight": {"step": "look", "plan": "{{ plan }}"},
    }
    tasks: list[dict[str, Any]] = [
        {"kubeflow_volcano.platform.kfv_host_preflight": {"step": "plan"}, "register": "plan"},
        *(
            {f"kubeflow_volcano.platform.{name}": given[name], "register": name, "ignore_errors": True}
            for name in names
        ),
        {"ansible.builtin.copy": {"content": "{{ answers | to_json }}", "dest": str(installed / "answers.json")}},
    ]
    answers = "{{ dict(names | zip(names | map('extract', vars))) }}"
    variables = {"ansible_python_interpreter": sys.executable, "names": list(names), "answers": answers}
    said = played(installed, library, tasks, vars=variables)
    found = json.loads((installed / "answers.json").read_text("utf-8"))
    assert found["kfv_volumes"]["directory"]["path"] == str(installed / "volumes")
    assert found["kfv_pull"].keys() & {"images", "unusable"}, found["kfv_pull"]
    assert found["kfv_containerd"].keys() >= {"problems"}, found["kfv_containerd"]
    assert found["kfv_host_preflight"]["facts"]["machine"]["cpus"] > 0
    assert "Traceback" not in said


def test_its_output_for_many_hosts_can_be_chosen(installed: Path) -> None:
    listed = run("ansible-doc", "-t", "callback", "kubeflow_volcano.platform.kfv_console", cwd=installed)
    assert listed.returncode == 0, listed.stdout
    names = ",".join(f"node-{number}" for number in range(1, 11))
    (installed / "many.yml").write_text(
        "- hosts: all\n  gather_facts: false\n  tasks: [{ansible.builtin.assert: {that: true, quiet: true}}]\n", "utf-8"
    )
    (installed / "ansible.cfg").write_text(
        "[defaults]\nstdout_callback = kubeflow_volcano.platform.kfv_console\n", "utf-8"
    )
    done = run("ansible-playbook", "-i", names, "-c", "local", "many.yml", cwd=installed)
    (installed / "ansible.cfg").unlink()
    assert "ok: 10 hosts" in done.stdout, done.stdout


def test_ansible_doc_finds_the_plugins_by_their_full_names(installed: Path) -> None:
    done = run("ansible-doc", "-t", "module", "--list", "kubeflow_volcano.platform", cwd=installed)
    listed = {line.split()[0].rpartition(".")[2] for line in done.stdout.splitlines() if "platform.kfv_" in line}
    assert listed == {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}
