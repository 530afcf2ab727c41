"""config.toml: one key more, or less, and every other byte as it was. Files as installations have them.

default-*.toml is what `containerd config default` of that release prints.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.hosts.containerd.config import ConfigFile, load_order, parse_file, registry_of
from kubeflow_volcano.hosts.containerd.edit import edited
from kubeflow_volcano.problems import InvalidInput

HERE = Path(__file__).parent
CERTS = "/etc/containerd/certs.d"
KUBEADM = """# written by the installer
version = 2
root = "/data/containerd"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.9"   # as kubeadm has it
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
"""
NVIDIA = """version = 2

[plugins]

  [plugins."io.containerd.grpc.v1.cri"]

    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "nvidia"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
          privileged_without_host_devices = false
          runtime_engine = ""
          runtime_root = ""
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
            BinaryName = "/usr/bin/nvidia-container-runtime"
            SystemdCgroup = true

    [plugins."io.containerd.grpc.v1.cri".registry]
      config_path = ""

[debug]
  level = "info"
"""
MIRRORS = """version = 2
[plugins."io.containerd.grpc.v1.cri".registry]
  [plugins."io.containerd.grpc.v1.cri".registry.mirrors]
    [plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]
      endpoint = ["https://near.lan", "https://registry-1.docker.io"] # two
  [plugins."io.containerd.grpc.v1.cri".registry.configs."near.lan".tls]
    ca_file = "/etc/near.crt"
  [plugins."io.containerd.grpc.v1.cri".registry.configs."near.lan".auth]
    username = "u"
    password = "p"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
"""
OUT_OF_ORDER = """version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "runc" # keep
[proxy_plugins.stargz]
  type = "snapshot"
[plugins."io.containerd.grpc.v1.cri".registry]
  # nothing yet
[debug]
  level = "info"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt"
"""


def file(text: str, path: str = "/etc/containerd/config.toml") -> ConfigFile:
    return parse_file(path, text.encode())


def lines_changed(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), n=0)
    return [line for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))]


@pytest.mark.parametrize("version", ["1.6", "1.7", "2.2", "2.3"])
def test_a_default_file_gets_the_key_where_it_has_it_empty(version: str) -> None:
    before = (HERE / f"default-{version}.toml").read_text()
    empty = "''" if version.startswith("2") else '""'
    assert lines_changed(before, edited(file(before), CERTS, without_legacy=False)) == [
        f"-      config_path = {empty}\n",
        f'+      config_path = "{CERTS}"\n',
    ]


@pytest.mark.parametrize(
    ("text", "table"),
    [
        (KUBEADM, '[plugins."io.containerd.grpc.v1.cri".registry]'),
        ("version = 2\n", '[plugins."io.containerd.grpc.v1.cri".registry]'),
        ("version = 3\n", '[plugins."io.containerd.cri.v1.images".registry]'),
        ("version = 4\n", '[plugins."io.containerd.cri.v1.images".registry]'),
        ('[plugins.cri]\n  sandbox_image = "x"\n', "[plugins.cri.registry]"),
        ("version = 1\n", "[plugins.cri.registry]"),
        ("", "[plugins.cri.registry]"),
    ],
)
def test_a_file_without_the_table_gets_it_at_its_end_by_the_name_of_its_version(text: str, table: str) -> None:
    after = edited(file(text), CERTS, without_legacy=False)
    assert after == f'{text}\n{table}\n  config_path = "{CERTS}"\n'


def test_a_graphics_runtime_stays_as_its_tool_wrote_it() -> None:
    after = edited(file(NVIDIA), CERTS, without_legacy=False)
    assert lines_changed(NVIDIA, after) == ['-      config_path = ""\n', f'+      config_path = "{CERTS}"\n']


def test_line_ends_of_another_system_stay() -> None:
    for text in (KUBEADM, NVIDIA):
        before = text.replace("\n", "\r\n")
        after = edited(file(before), CERTS, without_legacy=False)
        assert after.count("\n") == after.count("\r\n")
        assert tomllib.loads(after) == tomllib.loads(edited(file(text), CERTS, without_legacy=False))


def test_a_file_without_an_end_of_line_gets_one_first() -> None:
    assert edited(file("version = 2"), CERTS, without_legacy=False).startswith("version = 2\n\n[plugins.")


def test_tables_in_any_order_stay_in_theirs() -> None:
    after = edited(file(OUT_OF_ORDER), CERTS, without_legacy=False)
    assert [line for line in lines_changed(OUT_OF_ORDER, after) if line.strip("+- \n")] == [
        f'+  config_path = "{CERTS}"\n'
        if f'+  config_path = "{CERTS}"\n' in lines_changed(OUT_OF_ORDER, after)
        else f'+config_path = "{CERTS}"\n'
    ]


def test_mirrors_and_certificates_leave_and_credentials_stay() -> None:
    after = edited(file(MIRRORS), CERTS, without_legacy=True)
    registry = registry_of(tomllib.loads(after))
    assert (registry.config_path, registry.mirrors, registry.with_tls) == (CERTS, {}, {})
    assert registry.configs == {"near.lan": {"auth": {"username": "u", "password": "p"}}}
    assert "SystemdCgroup = true" in after


def test_a_second_time_changes_nothing() -> None:
    for text in (KUBEADM, NVIDIA, MIRRORS, OUT_OF_ORDER):
        once = edited(file(text), CERTS, without_legacy=True)
        assert edited(file(once), CERTS, without_legacy=True) == once


def test_a_file_beside_the_main_one_only_loses_what_moved() -> None:
    after = edited(file(MIRRORS, "/etc/containerd/conf.d/mirrors.toml"), None, without_legacy=True)
    assert "config_path" not in after
    assert "mirrors" not in after
    assert edited(file(KUBEADM), None, without_legacy=True) == KUBEADM


@pytest.mark.parametrize(
    "text",
    [
        'version = 2\n[plugins]\n"io.containerd.grpc.v1.cri" = {sandbox_image = "x"}\n',
        'version = 2\nplugins = {"io.containerd.grpc.v1.cri" = {sandbox_image = "x"}}\n',
    ],
)
def test_a_file_whose_tables_are_closed_is_left_to_a_person(text: str) -> None:
    with pytest.raises(InvalidInput) as error:
        edited(file(text), CERTS, without_legacy=False)
    (problem,) = error.value.problems
    assert "cannot be edited" in problem.found
    assert 'config_path = "/etc/containerd/certs.d" in [plugins."io.containerd.grpc.v1.cri".registry]' in problem.needed


@pytest.mark.parametrize("content", [b"version = \n", b"\xff\xfe", b"[plugins\n", b"a = 1\na = 2\n"])
def test_a_file_that_containerd_could_not_read_is_told_with_its_place(content: bytes) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_file("/etc/containerd/config.toml", content)
    assert error.value.problems[0].found.startswith("/etc/containerd/config.toml is not")


def test_a_table_by_the_name_of_another_version_is_seen() -> None:
    long = '[plugins."io.containerd.grpc.v1.cri".registry]\n'
    assert file(long).ignored_tables == ("io.containerd.grpc.v1.cri",)
    assert file("version = 2\n[plugins.cri.registry]\n").ignored_tables == ("cri",)
    assert file(f"version = 3\n{long}").ignored_tables == ("io.containerd.grpc.v1.cri",)
    assert file('version = 2\n[plugins."io.containerd.cri.v1.images".registry]\n').ignored_tables == ()
    streaming = '[plugins."io.containerd.grpc.v1.cri"]\nstream_server_port = "0"\n'
    assert file(f"version = 3\n{streaming}").ignored_tables == ()
    assert file(KUBEADM).ignored_tables == ()


def test_imports_are_loaded_in_containerds_order() -> None:
    main = file('imports = ["conf.d/*.toml", "/x/last.toml"]\n')
    assert main.imports == ("/etc/containerd/conf.d/*.toml", "/x/last.toml")
    others: dict[str, Any] = {
        path: file(text, path)
        for path, text in {
            "/etc/containerd/conf.d/a.toml": 'imports = ["../extra.toml", "/etc/containerd/config.toml"]\n',
            "/etc/containerd/conf.d/b.toml": "",
            "/etc/containerd/extra.toml": "",
            "/x/last.toml": "",
            "/never.toml": "",
        }.items()
    }
    matching = {
        "/etc/containerd/conf.d/*.toml": ["/etc/containerd/conf.d/a.toml", "/etc/containerd/conf.d/b.toml"],
        "/x/last.toml": ["/x/last.toml"],
        "/etc/containerd/extra.toml": ["/etc/containerd/extra.toml"],
        "/etc/containerd/config.toml": ["/etc/containerd/config.toml"],
    }
    assert [item.path for item in load_order(main, others, matching)] == [
        "/etc/containerd/config.toml",
        "/etc/containerd/conf.d/a.toml",
        "/etc/containerd/conf.d/b.toml",
        "/x/last.toml",
        "/etc/containerd/extra.toml",
    ]
