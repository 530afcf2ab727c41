"""The client of J9 and the stand-in for the API beside kfp, the official client, in the last version of each API.

kfp has an environment of its own, by a lock: it cannot be installed beside this project.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.examples import ARGO_PIPELINE, HOME, PIPELINE
from kubeflow_volcano.directories import cache_directory
from tests.locked import NotInstalledError, made, virtual_environment
from tests.places import ROOT
from tests.samples.pipelines import TOKEN, Asked, StandIn, pipelines
from tests.unit.validators.probes.acceptance.test_pipelines import SPACE, cluster_facts, tried

pytestmark = [pytest.mark.long, pytest.mark.programs, pytest.mark.timeout(1800)]  # its first run installs

LOCKS = ROOT / "requirements" / "kfp"
LIFE = ROOT / "tests" / "samples" / "kfp_life.py"
NAME = "kfv-0a1b2c3d-pipeline"
PARAMETERS = {"storage_class": "fast", "suffix": f"-{NAME}"}
PAGING = {"page_token", "page_size", "sort_by"}
"""Of lists, which kfp 2 and kfp 1 always name; without them a server answers the first page."""


@pytest.fixture(scope="module", params=[("v1beta1", "1.8"), ("v2beta1", "2.17")], ids=lambda pair: f"kfp-{pair[1]}")
def kfp(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A version of the API, and a Python that has the kfp for it."""
    version, lock = request.param
    files = LOCKS / "build.txt", LOCKS / f"{lock}.txt"
    text = "".join(file.read_text("utf-8") for file in files)
    name = f"{lock}-python-{sys.version_info.major}.{sys.version_info.minor}"
    try:
        place = made(
            cache_directory() / "kfp",
            name,
            text,
            lambda place, _: virtual_environment(Path(sys.executable), place, *files),
        )
    except NotInstalledError as error:
        if "from versions: none" in str(error):
            pytest.skip("the package index cannot be reached")
        raise
    return version, place / "bin" / "python"


def by_kfp(python: Path, server: StandIn, home: Path) -> list[Any]:
    """Lead the life of the pipeline; what kfp read of the answers."""
    package = HOME / f"{PIPELINE if server.later else ARGO_PIPELINE}.yaml"
    host = f"http://127.0.0.1:{server.port}"
    done = subprocess.run(
        [python, LIFE, host, TOKEN, SPACE, NAME, package, json.dumps(PARAMETERS)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
    )
    read: list[Any] = json.loads(done.stdout.splitlines()[-1].replace("+00:00", "Z"))
    return read


def meant(asked: Sequence[Asked]) -> list[tuple[str, Mapping[str, str], Any]]:
    """What requests mean, each once: without pages of lists, and without the name of a file."""
    found: list[tuple[str, Mapping[str, str], Any]] = []
    for item in asked:
        query = {key: value for key, value in item.query.items() if key not in PAGING}
        body = {**item.body, "uploadfile": [*item.body["uploadfile"].values()]} if "upload" in item.path else item.body
        if (each := (f"{item.method} {item.path}", query, body)) not in found:
            found.append(each)
    return found


def test_it_asks_for_what_kfp_asks_for(kfp: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version, python = kfp
    with pipelines(version) as server:
        tried(server, monkeypatch, cluster_facts("1.9.1" if server.later else "1.8.1"))
    with pipelines(version) as other:
        by_kfp(python, other, tmp_path)
    own, theirs = meant(server.asked), meant(other.asked)
    assert server.kept == other.kept == {}
    assert [item for item in own if item in theirs] == [item for item in theirs if item in own]
    only_own = [item for item in own if item not in theirs]
    looked_for, *only_theirs = [item for item in theirs if item not in own]
    assert looked_for[0] == "GET experiments"  # kfp takes one of the same name; J9 has a name of its own each time
    if server.later:
        assert only_own == only_theirs == []
    else:  # kfp 1 cannot name the namespace of a pipeline, which then is everyone's; the servers of its releases can
        ((path, query, body),) = only_theirs
        assert path == "POST pipelines/upload"
        assert only_own == [(path, {**query, "namespace": SPACE}, body)]


@pytest.mark.parametrize("error", ["", "a child failed"])
def test_kfp_reads_the_answers_of_the_stand_in(kfp: tuple[str, Path], error: str, tmp_path: Path) -> None:
    version, python = kfp
    with pipelines(version, states=("", "RUNNING", "FAILED" if error else "SUCCEEDED"), error=error) as server:
        health, experiment, pipeline, versions, run, ended = by_kfp(python, server, tmp_path)
    answers = {f"{item.method} {item.path}": item.answer for item in server.asked}
    assert health == answers["GET healthz"]
    assert experiment == answers["POST experiments"]
    assert pipeline == answers["POST pipelines/upload"]
    assert versions in answers.values()
    created = answers["POST runs"]
    assert run == (created if server.later else created["run"])
    assert ended == answers["GET runs/r"]
    assert len([item for item in server.asked if item.path == "runs/r"]) == 4  # three polls, and its deletion
