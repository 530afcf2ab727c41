"""Configurations as installations have them, changed, and judged by the real containerd of each release.

Nothing runs by them here: containerd is asked what it makes of the files (`containerd config dump`), before and after.
What is not openEuler: SSH, Python and coreutils are Debian's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kubeflow_volcano.hosts.containerd.check import candidate_files, require_accepted
from kubeflow_volcano.hosts.containerd.config import registry_of
from kubeflow_volcano.hosts.containerd.hosts_toml import Host as Asked
from kubeflow_volcano.hosts.containerd.look import Directory, Look
from kubeflow_volcano.hosts.containerd.mirrors import MirrorHost
from kubeflow_volcano.hosts.containerd.plan import Choice, Plan, directories, plan, unread_imports
from kubeflow_volcano.problems import InvalidInput
from tests.hosts.lab import Host, Lab

CERTS = "/etc/containerd/certs.d"
TOP = "/root/configurations"
OLD, NEW = 'plugins."io.containerd.grpc.v1.cri"', 'plugins."io.containerd.cri.v1.images"'
IMPORTS = f'imports = ["{TOP}/{{name}}/conf.d/*.toml"]\n'
GPU = f"""version = 2
# written by a tool
[{OLD}.containerd]
  default_runtime_name = "nvidia"
[{OLD}.containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
[{OLD}.containerd.runtimes.nvidia.options]
  BinaryName = "/usr/bin/nvidia-container-runtime"
  SystemdCgroup = true
"""
MIRRORS = f"""version = 2
[{OLD}.registry.mirrors."quay.io"]
  endpoint = ["https://near.lan"]
[{OLD}.registry.mirrors."*"]
  endpoint = ["http://any.lan:5000"]
[{OLD}.registry.configs."near.lan".tls]
  ca_file = "/etc/near.crt"
[debug]
  level = "info"
[{OLD}.registry.configs."near.lan".auth]
  username = "u"
  password = "p"
"""
FILES: dict[str, dict[str, str]] = {
    "gpu": {"config.toml": GPU},
    "gpu-crlf": {"config.toml": GPU.replace("\n", "\r\n")},
    "mirrors": {"config.toml": MIRRORS},
    "empty-key": {"config.toml": f'version = 2\n[{OLD}.registry]\n  config_path = ""\n  [{OLD}.registry.mirrors]\n'},
    "gpu-in-a-drop-in": {"config.toml": "version = 2\n" + IMPORTS, "conf.d/gpu.toml": GPU},
    "mirrors-in-a-drop-in": {"config.toml": "version = 2\n" + IMPORTS, "conf.d/mirrors.toml": MIRRORS},
    "absent": {},
    "oldest": {"config.toml": '[plugins.cri.registry.mirrors."quay.io"]\n  endpoint = ["https://near.lan"]\n'},
    "newer": {"config.toml": f'version = 3\n[{NEW}.registry.mirrors."quay.io"]\n  endpoint = ["https://near.lan"]\n'},
    "newest": {"config.toml": "version = 4\n"},
}
REFUSED = {
    ("newer", "1.6"): "unsupported config version",
    ("newer", "1.7"): "unsupported config version",
    ("newest", "1.6"): "unsupported config version",
    ("newest", "1.7"): "unsupported config version",
    ("newest", "2.1"): "cannot read its own configuration",
    ("newest", "2.2"): "cannot read its own configuration",
    ("oldest", "2.1"): "ignores the CRI tables of such a file",
    ("oldest", "2.2"): "ignores the CRI tables of such a file",
}
WANTED = {"gcr.io": MirrorHost(Asked("https://m.x/v2/gcr.io", override_path=True), upstream=False)}
CHOICE = Choice(CERTS, "", extend=False)
SERVICE = {"LoadState": "loaded", "KillMode": "process", "Delegate": "yes"}


@pytest.fixture(
    scope="module",
    params=["1.7", "2.2", *(pytest.param(version, marks=pytest.mark.long) for version in ("1.6", "2.1", "2.3"))],
)
def node(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Host]:
    """A host with all configurations, and what its containerd makes of them beside each."""
    host = lab.start(containerd=request.param)
    for name, files in FILES.items():
        put(host, name, {path: text.replace("{name}", name) for path, text in files.items()})
    dump(host, "config.toml")
    yield host
    host.remove()


def put(host: Host, name: str, files: Mapping[str, str]) -> None:
    place(host, name).mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        target = place(host, name) / path
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(text.encode())


def place(host: Host, name: str) -> Path:
    return host.root / TOP.lstrip("/") / name


def dump(host: Host, file: str) -> None:
    """Ask about that file of every configuration, in one go."""
    ask = f'if [ -e {file} ]; then containerd --config "$PWD/{file}" config dump; else containerd config default; fi'
    host.run(f"for d in {TOP}/*; do cd $d; {{ {ask}; }} >dump 2>error || true; done")


def look(host: Host, name: str) -> Look:
    """What the module on the host would have answered."""
    top, here = f"{TOP}/{name}", place(host, name)
    there = [*here.glob("config.toml"), *here.glob("conf.d/*.toml")]
    files = {f"{top}/{path.relative_to(here)}": path.read_bytes() for path in there}
    said = (here / "dump").read_text()
    errors = [] if said else (here / "error").read_text().splitlines()
    release = f"v{host.containerd}.0"
    seen = Look(f"{top}/config.toml", release, SERVICE, files, dump=said, dump_error=errors[-1] if errors else "")
    drop_ins = sorted(path for path in files if "/conf.d/" in path)
    return replace(seen, matching=dict.fromkeys(unread_imports(seen), drop_ins))


def planned(seen: Look) -> Plan:
    trees: dict[str, dict[str, Directory]] = {path: {} for path in directories(seen, CHOICE)}
    return plan(replace(seen, trees=trees), WANTED, CHOICE)


def test_a_changed_configuration_is_read_as_meant_and_changed_once(node: Host) -> None:
    plans: dict[str, Plan] = {}
    for name in FILES:
        seen = look(node, name)
        if told := REFUSED.get((name, node.containerd)):
            with pytest.raises(InvalidInput, match=told):
                planned(seen)
            continue
        plans[name] = planned(seen)
        put(node, name, {f"check/{file}": text for file, text in candidate_files(seen, plans[name]).items()})
    dump(node, "check/0.toml")
    for name, found in plans.items():
        require_accepted(found, (place(node, name) / "dump").read_text(), "", name)
        put(node, name, {path.removeprefix(f"{TOP}/{name}/"): file.text for path, file in found.files.items()})
    dump(node, "config.toml")
    for name, found in plans.items():
        again = look(node, name)
        assert registry_of(tomllib.loads(again.dump)).config_path == CERTS, name
        assert plan(replace(again, trees={CERTS: written(found)}), WANTED, CHOICE).writes == (), name


def written(found: Plan) -> dict[str, Directory]:
    """The directories of registries that it makes."""
    files = {Path(item.path).parent.name: item.after for item in found.writes if item.path.endswith("hosts.toml")}
    return {name: Directory(text.encode()) for name, text in files.items() if text is not None}
