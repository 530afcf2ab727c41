"""Hosts to try roles on: `python -m tests.hosts.lab up INVENTORY`, `down INVENTORY`, and `prepare` for tests.

`up` starts the hosts of INVENTORY/hosts.yml that say their test_host_release (and test_host_containerd), and writes
INVENTORY/ssh.cfg, by which ssh finds them. They stay until `down`, or until the machine stops. `prepare` makes what
hosts of every kind are made of, so that no test has to wait for it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from kubeflow_volcano.problems import Exit, InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress, to_stderr
from kubeflow_volcano.text import counted
from tests.hosts.lab.base import RELEASES, ensure_tree
from tests.hosts.lab.host import Host
from tests.hosts.lab.lab import Lab
from tests.hosts.lab.programs import CONTAINERD, ensure_containerd

_SSH = """\
Host {name}
  HostName {address}
  IdentityFile {key}
  IdentitiesOnly yes
  UserKnownHostsFile {known}
"""


def up(inventory: Path, progress: Progress) -> None:
    """Start the hosts that `inventory` lists; those that are up already stay as they are."""
    wanted = dict(_wanted(inventory))
    seed = _seed(inventory)
    if Lab.is_up(seed) and (inventory / "ssh.cfg").exists():
        progress("the test hosts are up already; make test-hosts-down removes them")
        return
    Lab.clear(seed)
    lab = Lab(seed, kept=True, progress=progress)
    hosts = [
        lab.start(variables["test_host_release"], variables.get("test_host_containerd", ""), name)
        for name, variables in wanted.items()
    ]
    (inventory / "ssh.cfg").write_text("".join(_entry(lab, host) for host in hosts))
    progress(
        f"{counted(len(hosts), 'host')} of {inventory}: {', '.join(f'{host.name} {host.address}' for host in hosts)}"
    )


def prepare(progress: Progress) -> None:
    """Make the trees of all releases and the programs of all containerds that the cache lacks."""
    for release in RELEASES.values():
        ensure_tree(release, progress)
    for version in CONTAINERD:
        ensure_containerd(version, progress)


def down(inventory: Path, progress: Progress) -> None:
    """Remove them and all that they left on this machine; none there is fine, too."""
    Lab.clear(_seed(inventory))
    (inventory / "ssh.cfg").unlink(missing_ok=True)
    progress("no test host is left")


def _wanted(inventory: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The hosts to start, by name.

    Raises:
        InvalidInput: a release or a containerd that there is none of.
    """
    hosts = yaml.safe_load((inventory / "hosts.yml").read_text())["all"]["hosts"]
    for name, variables in hosts.items():
        if "test_host_release" not in (variables or {}):
            continue
        for key, known in (("test_host_release", RELEASES), ("test_host_containerd", CONTAINERD)):
            if variables.get(key) and variables[key] not in known:
                raise InvalidInput(
                    Problem(
                        f"{name}: {key} is {variables[key]}.", f"one of {', '.join(known)}.", f"correct {inventory}."
                    )
                )
        yield name, variables


def _entry(lab: Lab, host: Host) -> str:
    return _SSH.format(name=host.name, address=host.address, key=lab.directory / "id_ed25519", known=lab.known_hosts)


def _seed(inventory: Path) -> str:
    """The same eight hexadecimal digits for the same directory."""
    return hashlib.sha256(str(inventory.resolve()).encode()).hexdigest()[:8]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes are those of every command here."""
    parser = argparse.ArgumentParser(prog="python -m tests.hosts.lab", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("up", "down"):
        verbs.add_parser(verb).add_argument("inventory", type=Path)
    verbs.add_parser("prepare")
    options = parser.parse_args(arguments)
    try:
        if options.verb == "prepare":
            prepare(to_stderr())
        else:
            {"up": up, "down": down}[options.verb](options.inventory, to_stderr())
    except ProblemsError as error:
        sys.stderr.write(f"{error.describe()}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main())
