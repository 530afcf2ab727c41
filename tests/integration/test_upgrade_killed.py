"""An upgrade that is killed at random moments: whatever it had done, the next one ends with the same objects.

KFV_TEST_KILLS says how often; the seed of the moments is printed when it fails, and KFV_TEST_SEED repeats it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.removing.managed import managed_objects
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import Place
from kubeflow_volcano.cluster.objects import Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rollout.state.inventory import read_inventory
from tests.bench.plane import Plane
from tests.integration.test_upgrade import (
    COUNT,
    MAPPINGS,
    NAMESPACES,
    contents,
    live,
    managed,
    mapping,
    need_archives,
    prepare_storage,
    roll_out,
    tools,
    variables_of,
)

__all__ = ["tools"]  # a fixture, by its name

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(3600)]

KILLS = int(os.environ.get("KFV_TEST_KILLS", "4"))
SEED = int(os.environ.get("KFV_TEST_SEED", random.SystemRandom().randrange(10**6)))
FROM, TO = "1.8.1", "1.9.1"
EACH = 4
"""Kills of one upgrade, before the next begins with a new cluster."""

RUNNER = """
import json, sys
from pathlib import Path
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.rollout.run import roll_out
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import parse
cluster, settings = Cluster.connect(Path(sys.argv[1])), parse(json.loads(sys.argv[2]))
print("begins", flush=True)
roll_out(cluster, settings, scope_of(settings), check=False, progress=lambda _line: None)
"""


def killed_after(seconds: float, kubeconfig: Path, variables: dict[str, Any]) -> bool:
    """Whether SIGKILL met the upgrade while it ran."""
    command = [sys.executable, "-c", RUNNER, str(kubeconfig), json.dumps(variables)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def uids(cluster: Cluster) -> set[tuple[Place, str]]:
    found = managed_objects(cluster, Deadline(60)).objects
    return {(Place.of(ref), meta["metadata"]["uid"]) for ref, meta in found.items()}


def recorded(cluster: Cluster) -> set[tuple[Place, str]]:
    objects = [brought.objects for brought in read_inventory(cluster).values()]
    return {(Place.of(ref), uid) for each in objects for ref, uid in each.items()}


@pytest.fixture(scope="module")
def unkilled(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> set[Place]:
    """The objects after an upgrade that nobody disturbed."""
    need_archives(FROM, TO)
    with Plane(tools.programs, tmp_path_factory.mktemp("unkilled") / "plane", NAMESPACES) as plane:
        cluster = Cluster.connect(plane.kubeconfig)
        prepare_storage(cluster)
        for release, prune in ((FROM, False), (TO, True)):
            done, _ = roll_out(cluster, tools, release, kubeflow_prune=prune)
            assert not done.problems, done.problems
        return managed(cluster)


@pytest.mark.parametrize("number", range(-(-KILLS // EACH)))
def test_an_upgrade_that_is_killed_at_random_moments_ends_like_one_that_is_not(
    tools: Tools, unkilled: set[Place], tmp_path: Path, number: int
) -> None:
    moments = random.Random(SEED + number)  # noqa: S311  no secret
    with Plane(tools.programs, tmp_path / "plane", NAMESPACES) as plane:
        cluster = Cluster.connect(plane.kubeconfig)
        prepare_storage(cluster)
        first, _ = roll_out(cluster, tools, FROM)
        assert not first.problems, first.problems
        for obj in map(mapping, range(COUNT)):
            cluster.create(obj)
        mappings = contents(cluster, "serving.knative.dev/v1alpha1", "DomainMapping")
        others = Ref.of(cluster.create(new_object("v1", "ConfigMap", "of-others", "kubeflow")))
        theirs = live(cluster, others)

        variables = variables_of(tools, TO, kubeflow_prune=True)
        met = [killed_after(moments.uniform(0.5, 14), plane.kubeconfig, variables) for _ in range(EACH)]
        assert any(met), f"seed {SEED}: every upgrade had ended before it was to be killed"
        last, _ = roll_out(cluster, tools, TO, kubeflow_prune=True)
        assert not last.problems, (SEED, last.problems)
        again, _ = roll_out(cluster, tools, TO)
        assert not again.changed, (SEED, again.diff())
        found = managed(cluster)
        assert live(cluster, MAPPINGS)["status"]["storedVersions"] == ["v1beta1"]
        assert contents(cluster, "serving.knative.dev/v1beta1", "DomainMapping") == mappings
        assert live(cluster, others) == theirs
        assert recorded(cluster) - uids(cluster) == set(), f"seed {SEED}: the record has what is not there"
    assert found == unkilled, f"seed {SEED}"
