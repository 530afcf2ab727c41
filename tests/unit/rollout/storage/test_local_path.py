"""The provisioner's class, its directories, and the script that makes new volumes: run for real, as it would be."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.storage.local_path import DEFAULT_CLASS

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives directories to other users")

CLASS = new_object("storage.k8s.io/v1", "StorageClass", "local-path", provisioner="rancher.io/local-path")


def config(text: str) -> dict[str, Any]:
    return new_object(
        "v1", "ConfigMap", "local-path-config", "local-path-storage", data={"config.json": text, "setup": "x"}
    )


NODES = json.dumps(
    {
        "nodePathMap": [
            {"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/opt/local-path-provisioner"]},
            {"node": "special", "paths": ["/fast"]},
        ],
        "other": 1,
    }
)


def test_local_path_becomes_the_default_class() -> None:
    storage_class, _ = patched([CLASS, config(NODES)], "local-path", parse({}))
    assert storage_class["metadata"]["annotations"] == {DEFAULT_CLASS: "true"}


def test_the_base_directory_is_for_nodes_that_are_not_listed() -> None:
    _, result = patched([CLASS, config(NODES)], "local-path", parse({"local_path_base_directory": "/data/k8s"}))
    assert json.loads(result["data"]["config.json"]) == {
        "nodePathMap": [
            {"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/data/k8s"]},
            {"node": "special", "paths": ["/fast"]},
        ],
        "other": 1,
    }
    assert result["data"]["setup"] == "x"


def test_a_base_directory_that_is_right_leaves_the_text_alone() -> None:
    _, result = patched([CLASS, config(NODES)], "local-path", parse({}))
    assert result["data"]["config.json"] == NODES


def test_a_node_of_the_inventory_gets_the_directory_that_it_has_there() -> None:
    paths = {"special": "/slow", "new": "/data", "same": "/opt/local-path-provisioner"}
    _, result = patched([CLASS, config(NODES)], "local-path", parse({"local_path_node_paths": paths}))
    assert json.loads(result["data"]["config.json"])["nodePathMap"] == [
        {"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/opt/local-path-provisioner"]},
        {"node": "special", "paths": ["/slow"]},
        {"node": "new", "paths": ["/data"]},
    ]


@pytest.mark.parametrize("text", ["{", "{}", "[]", '{"nodePathMap": [1]}'])
def test_a_configuration_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"config\.json"):
        patched([CLASS, config(text)], "local-path", parse({}))


def test_two_classes_of_the_provisioner_are_refused() -> None:
    with pytest.raises(InvalidInput, match="2 StorageClasses"):
        patched([CLASS, CLASS, config(NODES)], "local-path", parse({}))


def test_a_configuration_is_needed() -> None:
    with pytest.raises(InvalidInput, match="without its configuration"):
        patched([CLASS], "local-path", parse({}))


def test_a_release_whose_consumers_are_not_known_keeps_the_script_of_upstream() -> None:
    _, result = patched([CLASS, config(NODES)], "local-path", parse({"kubeflow_release": "1.9.1"}))
    assert result["data"]["setup"] == "x"


UPSTREAM = {
    "0.0.20": """#!/bin/sh
while getopts "m:s:p:" opt
do
    case $opt in
        p) absolutePath=$OPTARG ;;
        *) : ;;
    esac
done
mkdir -m 0777 -p ${absolutePath}
""",
    "0.0.37": """#!/bin/sh
set -eu
mkdir -m 0777 -p "$VOL_DIR"
""",
}
"""In the forms of the oldest and the newest version that the catalog has."""


def made(folder: Path, version: str, claim: str) -> os.stat_result:
    """What the patched script makes of a new volume when it is called as the provisioner calls it."""
    source = config(NODES)
    source["data"]["setup"] = UPSTREAM[version]
    _, result = patched([CLASS, source], "local-path", parse({"kubeflow_release": "26.03"}))
    script = folder / "setup"
    script.write_text(result["data"]["setup"], "utf-8")
    volume = folder / f"pvc-{version}_{claim}"
    command = ["/bin/sh", str(script), "-p", str(volume), "-s", "1024", "-m", "Filesystem"]
    command += ["-a", "create"] if version == "0.0.37" else []
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={"VOL_DIR": str(volume)})
    assert (done.returncode, done.stderr) == (0, "")
    return volume.stat()


@pytest.mark.programs
@as_root
@pytest.mark.parametrize("version", UPSTREAM)
def test_a_new_volume_of_a_known_consumer_belongs_to_it_alone(tmp_path: Path, version: str) -> None:
    found = made(tmp_path, version, "kubeflow_mysql-pv-claim")
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (999, 999, 0o770)


@pytest.mark.programs
@as_root
@pytest.mark.parametrize("version", UPSTREAM)
def test_other_new_volumes_are_as_upstream_makes_them(tmp_path: Path, version: str) -> None:
    found = made(tmp_path, version, "somebody_mysql-pv-claim")
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o777)


def test_the_script_is_one_that_a_strict_shell_reads() -> None:
    _, result = patched([CLASS, config(NODES)], "local-path", parse({"kubeflow_release": "1.8.1"}))
    assert yaml.safe_load(yaml.safe_dump(result)) == result
    line = '*_istio-system_authservice-pvc) chown 0:111 "$2" && chmod 0770 "$2" ;;'
    assert line in result["data"]["setup"].splitlines()
