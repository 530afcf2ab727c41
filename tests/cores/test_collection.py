"""The collection from its archive, with the library from its wheel, on every supported ansible-core and Python.

Hosts are names of this machine, and one of them is worked on by the oldest Python that hosts may have.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.cores.environments import CORES, Core, find_python, oldest
from tests.places import ROOT, UPSTREAM

PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))
SOURCE = UPSTREAM / "local-path-storage-0.0.20.yaml"
OLDEST_OF_HOSTS = "3.9"

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            (core, python),
            id=f"{core}-on-{python}",
            marks=() if (core, python) == oldest() else pytest.mark.long,
        )
        for core, pythons in CORES.items()
        for python in pythons
    ],
)
def core(request: pytest.FixtureRequest) -> Core:
    version, python = request.param
    if not find_python(python):
        pytest.skip(f"this machine has no Python {python}")
    return Core.installed(version, python)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The archive of the collection, and the unpacked wheel of the library."""
    place = tmp_path_factory.mktemp("built")
    galaxy = [str(Path(sys.executable).with_name("ansible-galaxy")), "collection", "build", "--output-path"]
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w"]
    for command in (galaxy, wheel):
        subprocess.run([*command, str(place), str(ROOT)], check=True, stdout=subprocess.DEVNULL, cwd=place)
    (file,) = place.glob("*.whl")
    with zipfile.ZipFile(file) as content:
        content.extractall(place / "library")
    (archive,) = place.glob("*.tar.gz")
    return archive, place / "library"


class Site:
    """An empty directory with the installed collection, and an inventory of this machine."""

    def __init__(self, core: Core, place: Path, library: Path) -> None:
        self.core, self.place, self._library = core, place, library
        self.variables: dict[str, Any] = {
            "ansible_connection": "local",
            "ansible_python_interpreter": str(core.python),
            "kubeflow_components": ["local-path"],
            "kubeflow_kubeconfig": str(place / "none"),
            "local_path_base_directory": str(place / "volumes"),
            "local_path_source": str(SOURCE),
            "local_path_version": "0.0.20",
            "plan_directory": str(place / "plan"),
            "preflight_report_directory": str(place / "reports"),
        }

    def play(self, name: str, *arguments: str, hosts: dict[str, Any], **more: Any) -> tuple[int, str]:
        """Exit code and output of a playbook, the output without line breaks."""
        children = {"nodes": {"hosts": hosts}}
        whole = {"hosts": {"localhost": {}}, "children": children, "vars": self.variables | more}
        (self.place / "hosts.json").write_text(json.dumps({"all": whole}), "utf-8")
        playbook = f"kubeflow_volcano.platform.{name}"
        return self.run("ansible-playbook", "-i", "hosts.json", playbook, *arguments)

    def run(self, program: str, *arguments: str | Path, **environment: str) -> tuple[int, str]:
        done = self.core.run(program, *arguments, library=self._library, cwd=self.place, **environment)
        assert "Traceback" not in done.stdout, done.stdout
        assert "Unexpected failure" not in done.stdout, done.stdout
        return done.returncode, " ".join(done.stdout.split())


@pytest.fixture(scope="module")
def site(core: Core, built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Site:
    archive, library = built
    made = Site(core, tmp_path_factory.mktemp("site"), library)
    code, said = made.run("ansible-galaxy", "collection", "install", "-p", "collections", archive)
    assert code == 0, said
    return made


def hosts() -> dict[str, Any]:
    """One that the Python of the machine that runs Ansible works on, and one for the oldest, where there is one."""
    old = find_python(OLDEST_OF_HOSTS)
    return {"node-1": {}, **({"node-2": {"ansible_python_interpreter": str(old)}} if old else {})}


def test_it_supports_what_is_tested(site: Site) -> None:
    code, said = site.run("ansible", "--version")
    assert code == 0, said
    (folder,) = site.core.path
    (found,) = metadata.distributions(name="ansible-core", path=[str(folder)])
    named = {
        item.rpartition(" :: ")[2] for item in found.metadata.get_all("Classifier") or () if ":: Python :: 3." in item
    }
    core = ".".join(found.version.split(".")[:2])
    assert {*CORES[core]} <= named
    assert named & {"3.11", "3.12", "3.13"} == {*CORES[core]}


def test_every_playbook_loads(site: Site) -> None:
    (site.place / "hosts.json").write_text(json.dumps({"all": {"hosts": {"localhost": {}}}}), "utf-8")
    names = [f"kubeflow_volcano.platform.{name}" for name in PLAYBOOKS]
    code, said = site.run("ansible-playbook", "-i", "hosts.json", "--syntax-check", *names)
    assert code == 0, said
    assert said.count("playbook: ") == len(PLAYBOOKS) >= 14


def test_every_mistake_of_an_inventory_is_told_at_once(site: Site) -> None:
    wrong = {
        "kubeflow_release": "9.9.9",
        "image_mirror_mode": "{{ 'mirrored' }}",
        "local_path_minimum_free_gb": "{{ nobody_knows }}",
        "volcano_verison": "1.10.0",
    }
    code, said = site.play("install", hosts={}, **wrong)
    assert code == 2, said
    for name in ("9.9.9", "mirrored", "local_path_minimum_free_gb cannot be evaluated", "volcano_verison"):
        assert name in said, said
    assert "TASK [Begin with this cluster]" not in said


def test_what_the_command_line_selects_has_to_be_there(site: Site) -> None:
    """On each ansible-core: the filter that judges it, and tags of tasks, which it reads from classes of Ansible."""
    tags = site.play("site", "--tags", "volcanoo,validate", "--skip-tags", "kustomise", hosts={})
    limit = site.play("install", "--limit", "node-1", hosts={"node-1": {}})
    for code, said in (tags, limit):
        assert code != 0
        assert "TASK [" not in said, said
    for word in ("--tags volcanoo", "Did you mean volcano?", "--skip-tags kustomise", "Did you mean kustomize?"):
        assert word in tags[1], tags[1]
    for word in ("--limit node-1, ", "(localhost)"):
        assert word in limit[1], limit[1]


def test_what_cannot_be_decrypted_is_told_with_what_to_do(site: Site) -> None:
    """Variables of this collection, and of the connection to a host; with the password they are used."""
    (site.place / "password").write_text("of a vault", "utf-8")
    texts = {"kubeflow_user_password": "hunter2-hunter2", "kubeflow_release": "1.9.1", "ansible_become_password": "x"}
    files = {name: site.place / f"group_vars/{'nodes' if 'become' in name else 'all'}/{name}.yml" for name in texts}
    for name, text in texts.items():
        given = ("encrypt_string", text, "--name", name, "--vault-password-file", "password")
        said = site.core.run("ansible-vault", *given, library=None, cwd=site.place).stdout
        files[name].parent.mkdir(parents=True, exist_ok=True)
        files[name].write_text(said[said.index(name) :], "utf-8")

    locked = site.play("hosts", hosts={"node-1": {}})
    opened = ("--skip-tags", "hosts", "--vault-password-file", "password")
    unlocked = site.play("hosts", *opened, hosts={"node-1": {}})
    for file in files.values():
        file.unlink()

    assert locked[0] == 2
    for name in texts:
        assert name in locked[1], locked[1]
    assert "--vault-password-file FILE" in locked[1]
    assert unlocked[0] == 0, unlocked[1]
    assert "hunter2" not in locked[1] + unlocked[1]


def test_a_template_of_a_host_that_cannot_be_evaluated_is_told_with_the_host(site: Site) -> None:
    wrong = {"node-1": {"local_path_base_directory": "{{ nobody_knows }}"}, "node-2": {}}
    code, said = site.play("preflight", hosts=wrong)
    assert code == 2, said
    assert "on node-1: the variable local_path_base_directory cannot be evaluated: " in said, said
    assert "nobody_knows" in said


def test_a_roll_out_without_a_cluster_is_refused_in_check_mode_too(site: Site) -> None:
    if not SOURCE.is_file():
        pytest.skip("no upstream manifests")
    code, said = site.play("site", "--check", "--skip-tags", "kustomize", hosts={})
    assert code == 2, said
    assert "usable credentials" in said, said


def test_hosts_are_judged_by_modules_of_every_python(site: Site) -> None:
    chosen = hosts()
    code, said = site.play("preflight", hosts=chosen, preflight_select=["P2", "P3"])
    assert code == 0, said
    assert f"preflight: {len(chosen)} of {len(chosen)} hosts answered" in said, said
    assert list((site.place / "reports").glob("*.json"))


def test_hosts_get_their_directories(site: Site) -> None:
    """Actions and modules of a role that works on hosts."""
    code, said = site.play("hosts", "--tags", "local_path", hosts=hosts(), local_path_minimum_free_gb=1)
    assert code == 0, said
    assert (site.place / "volumes").is_dir()
    assert not re.search(r"failed=[1-9]", said)


def test_a_roll_out_is_planned_without_a_cluster(site: Site) -> None:
    if not SOURCE.is_file():
        pytest.skip("no upstream manifests")
    code, said = site.play("plan", "--skip-tags", "kustomize", hosts=hosts())
    assert code == 0, said
    plan = json.loads((site.place / "plan/plan.json").read_text("utf-8"))
    assert {step["component"] for step in plan["steps"]} == {"local-path"}
    assert plan["hosts"]["nodes"] == list(hosts())


def test_a_validation_without_a_cluster_is_incomplete(site: Site) -> None:
    where = {"validation_report_directory": str(site.place / "validation"), "validation_select": ["A1"]}
    code, said = site.play("validate", hosts={}, **where)
    assert code == 2, said
    assert "usable credentials" in said or "exit code 3" in said, said


def test_modules_that_only_old_hosts_run_have_no_newer_syntax() -> None:
    """All of them, on the oldest Python that hosts may have, where this machine has one."""
    old = find_python(OLDEST_OF_HOSTS)
    if not old:
        pytest.skip(f"this machine has no Python {OLDEST_OF_HOSTS}")
    files = [str(path) for folder in ("modules", "module_utils") for path in (ROOT / "plugins" / folder).glob("*.py")]
    code = "import ast, sys; [ast.parse(open(name, encoding='utf-8').read(), name) for name in sys.argv[1:]]"
    done = subprocess.run([old, "-c", code, *files], capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stderr
