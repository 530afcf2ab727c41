"""The checkout as a collection: built, installed elsewhere, and used there by its names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.places import ROOT

TOP_LEVEL = {"CHANGELOG.md", "FILES.json", "LICENSE", "MANIFEST.json", "README.md", "docs", "galaxy.yml", "inventory"}
TOP_LEVEL |= {"README.zh-CN.md", "examples", "meta", "playbooks", "plugins", "roles"}


def run(program: str, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
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
        assert "'0.0.1', which the catalog does not know" in done.stdout


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
