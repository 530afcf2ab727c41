"""A place in which commands of pages run as they are: a copy of the checkout, a home, and a rehearsal cluster.

What differs from a reader's machine, so that the words of a page need not be changed:

- `~/.kube/config` leads to the rehearsal cluster, and its programs (kubectl) are on the PATH;
- the inventories that pages copy name the sources of that cluster, where a reader's come from upstream;
- the inventory of rehearsals, and `make` without one, name a cluster of the test's own;
- `$EDITOR` changes nothing: the inventories have their settings already;
- `.venv` of the copy is the environment that runs the tests, and looks installed to `requirements/setup.sh`;
- `inventory/mine` is there from the beginning, and is made afresh by a block that copies it: of several ways on a page
  a reader goes one;
- the namespace `team-a` has a job that does not fit, for pages that ask why a job does not start.

`SUBSTITUTIONS` are the words that are replaced none the less, by page.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from kubeflow_volcano.directories import cache_directory
from tests.hosts.lab import Host, Lab
from tests.pages.blocks import Block
from tests.places import ROOT
from tests.playing import ansible

ADDRESS = "<address of this repository>"
SUBSTITUTIONS: Mapping[str, Mapping[str, str]] = {
    "README.md": {ADDRESS: "repository"},
    "docs/backup.md": {"backups/20261125T103000Z": "$(echo backups/*)"},
}
_MINE = "inventory/mine"
_JOB = """\
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist, namespace: team-a}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          containers:
            - name: tensorflow
              image: busybox:1.36
              resources: {requests: {cpu: "1000"}}
"""
_LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "backups", "dist", "reports")
_AUTHOR = {f"GIT_{who}_{what}": "tests" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass(frozen=True, slots=True)
class Played:
    """A page that was run: the code of its shell, and what was printed; a line names each block before it begins."""

    code: int
    output: str


class Workplace:
    """A copy of the checkout below `directory`, for commands on the cluster of `kubeconfig`.

    `rehearsal` is the name of the rehearsal cluster that pages may start and remove.
    """

    def __init__(self, directory: Path, kubeconfig: Path, rehearsal: str) -> None:
        self.directory = directory
        self.checkout = directory / "checkout"
        self._cluster = kubeconfig.parent
        self._rehearsal = rehearsal
        self._path = ""
        shutil.copytree(ROOT, self.checkout, ignore=_LEFT_BEHIND, symlinks=True)
        self._adapt_inventories()
        home = directory / "home" / ".kube"
        home.mkdir(parents=True)
        (home / "config").symlink_to(kubeconfig)

    def make_repository(self) -> None:
        """Make a repository of the copy, to be cloned from as `repository` in `directory`."""
        repository = self.directory / "repository"
        self.checkout.rename(repository)
        for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "the checkout")):
            subprocess.run(["git", *words], cwd=repository, check=True, env={**os.environ, **_AUTHOR})

    def provide_environment(self) -> None:
        """Give the copy a `.venv` that is the environment of the tests."""
        self._path = str(self.checkout)
        place = self.checkout / ".venv"
        place.mkdir()
        for part in ("bin", "lib", "pyvenv.cfg"):
            (place / part).symlink_to(Path(sys.prefix, part))
        project = (ROOT / "pyproject.toml").read_bytes()
        for name in ("run", "dev"):  # as requirements/setup.sh recognises what is installed
            locked = (ROOT / f"requirements/{name}.txt").read_bytes()
            (place / f".{name}-{hashlib.sha256(locked + project).hexdigest()[:16]}").touch()

    def use_hosts(self, lab: Lab, hosts: Sequence[Host], **variables: object) -> None:
        """Let `inventory/mine` have test hosts; the first one is called the real node of the cluster.

        Preflight judges test hosts as what they are, so findings about the rest of a node are waived.
        """
        place = self.checkout / _MINE
        written = lab.inventory(place, hosts)
        inventory = yaml.safe_load(written.read_text("utf-8"))
        inventory["all"]["hosts"][hosts[0].name]["kubeflow_node_name"] = "rehearsal-1"
        inventory["all"]["hosts"]["localhost"] = {
            "ansible_connection": "local",
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        }
        written.write_text(yaml.safe_dump(inventory), "utf-8")
        waived = {"preflight_waivers": dict.fromkeys(("P7", "P8", "P18", "P22", "P27"), "a test host is no whole node")}
        with (place / "group_vars/all.yml").open("a", encoding="utf-8") as file:
            file.write(yaml.safe_dump({**waived, **variables}))

    def run(self, blocks: list[Block], directory: Path) -> Played:
        """Run blocks in one shell, in order, until one does not end as its page says."""
        lines = ["set -euo pipefail"]
        if any("team-a" in block.text for block in blocks):
            job = self.directory / "job.yaml"
            job.write_text(_JOB, "utf-8")
            lines += [f"kubectl apply -f {job}", f"trap 'kubectl delete --wait=false -f {job}' EXIT", "sleep 8"]
        for number, block in enumerate(blocks):
            text = block.text
            if "cp -r" in text and _MINE in text:
                lines.append(f"rm -rf {_MINE}")
            for words, instead in SUBSTITUTIONS.get(block.page, {}).items():
                text = text.replace(words, instead)
            file = self.directory / f"block-{number}.sh"
            file.write_text(text, "utf-8")
            lines.append(f"echo '== {block}'")
            if block.exit_code:
                lines += ["set +e", f". {file}", "code=$?", "set -e", f"[ $code = {block.exit_code} ]"]
            else:
                lines.append(f". {file}")
        done = subprocess.run(
            ["bash", "-c", "\n".join(lines)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            cwd=directory,
            env=self._environment(),
        )
        return Played(done.returncode, done.stdout)

    def remove_rehearsal(self) -> None:
        """Remove the rehearsal cluster that a page started, if it did."""
        ansible(
            *("-i", "inventory/rehearsal", "-e", f"rehearsal_cluster_name={self._rehearsal}"),
            *("-e", "rehearsal_cluster_state=absent", "playbooks/rehearsal.yml"),
        ).check_returncode()

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key not in {"KUBECONFIG", "ANSIBLE_CONFIG"}}
        return {
            **kept,
            # ssh takes no path of more than 90 characters, and that of a test's own home is longer.
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.directory.parent / "ssh"),
            "EDITOR": "true",
            "HOME": str(self.directory / "home"),
            "NO_COLOR": "1",
            "PATH": f"{self._cluster / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": self._path,
            "XDG_CACHE_HOME": str(cache_directory().parent),
        }

    def _adapt_inventories(self) -> None:
        inventories = self.checkout / "inventory"
        upstream = self._cluster / "upstream"
        sources = {
            "kubeflow_sources": {
                "training-operator": str(upstream / "training-operator/manifests/overlays/standalone")
            },
            "kustomize_binary": str(self._cluster / "bin/kustomize"),
            "local_path_source": str(upstream / "local-path-provisioner/deploy/local-path-storage.yaml"),
            "volcano_source": str(upstream / "volcano/installer/volcano-development.yaml"),
            "volcano_version": "1.10.0",
        }
        for name in ("sample", "existing-cluster"):
            with (inventories / name / "group_vars/all.yml").open("a", encoding="utf-8") as file:
                file.write(yaml.safe_dump(sources))
        shutil.copytree(inventories / "sample", self.checkout / _MINE)
        own = inventories / "rehearsal/group_vars/all.yml"
        text = own.read_text("utf-8")
        own.write_text(text.replace("cluster_name: default\n", f"cluster_name: {self._rehearsal}\n"), "utf-8")
