"""Katib 0.19.0 for real: both experiments of `examples/`, in gangs, to their end, on a cluster of this file's own.

Real: Katib's controller with its webhooks, its metrics collector and its db-manager, from upstream's own overlay for
PostgreSQL; PostgreSQL of this machine; goptuna, which searches at random in place of hyperopt, in Python; Volcano,
Trainer, JobSet and the training operator. Stand-ins: PyTorch, whose image computes the same loss with awk, Alpine, in
which workers wait for their master, and Katib's page, which is simulated.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.examples import load_example
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.spec import ClusterPaths
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.acceptance.examples import PROFILE, renamed
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.node_image import libraries, on_the_node, write_image
from tests.places import UPSTREAM
from tests.rehearsed import cluster_name, play
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.upstream, pytest.mark.timeout(2400)]

INVENTORY = "rehearsal-26.03"
OVERLAY = "upstream/katib/manifests/v1beta1/installs/katib-standalone-postgres"
KATIB = "kubeflow.org/v1beta1"
SPACE = "kfv-katib"
DATABASE, TRAINING = "registry.example/postgresql:test", "registry.example/training-stand-in:test"
WAITING = "docker.io/library/alpine:3.10"
"""With it the training operator lets a worker wait for its master's name."""
FOUND = """#!/bin/sh
# Newer ones of busybox fail where any domain of the search list has no such name.
busybox nslookup "$1" | grep ^Name:
"""
BUSYBOX = Path("/bin/busybox")
USER = 999
START = """#!/bin/sh
set -e
umask 077
if ! [ -s "$PGDATA/PG_VERSION" ]; then
    echo "$POSTGRES_PASSWORD" > /tmp/password
    initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --locale=C --encoding=UTF8 --no-sync
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    echo "CREATE DATABASE $POSTGRES_DB" | postgres --single postgres
fi
exec postgres -c 'listen_addresses=*' -c unix_socket_directories=/tmp
"""
TRAINED = """#!/bin/sh
# What the examples compute with PyTorch: their program, whose pause alone is taken, and the rate.
set -e
awk -v rate="$2" 'BEGIN {
    for (; step < 20; step++) weight -= rate * 2 * (weight - 3)
    printf "loss=%.6f\\n", (weight - 3) * (weight - 3)
}'
sleep "$(sed -n 's/^time.sleep(\\(.*\\))$/\\1/p' "$1")"
"""
SMALL = {"500m": "20m", "1Gi": "48Mi"}
"""The real node is no larger than this machine."""


def loss(rate: float) -> float:
    weight = 0.0
    for _ in range(20):
        weight -= rate * 2 * (weight - 3)
    return (weight - 3) ** 2


def shell(*applets: str) -> dict[str, Path | str]:
    """Busybox under these names."""
    links = (f"bin/{name}" for name in ("sh", *applets))
    return {
        **libraries(BUSYBOX),
        **dict.fromkeys(links, BUSYBOX),
        "etc/passwd": f"postgres:x:{USER}:{USER}::/:/bin/sh\n",
    }


def postgresql() -> dict[str, Path | str]:
    """The files of PostgreSQL on this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        pytest.skip("no PostgreSQL on this machine: Debian's package postgresql has it")
    home = found[-1].parents[1]
    trees = (home, Path("/usr/share/postgresql", home.name))
    files: dict[str, Path | str] = {
        str(path).lstrip("/"): path.resolve() for tree in trees for path in tree.rglob("*") if path.is_file()
    }
    programs = {home / "bin" / name for name in ("initdb", "postgres")}
    for program in (*programs, *home.rglob("*.so")):
        files |= libraries(program)
    return {**files, "usr/local/bin/start": START}


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    if not UPSTREAM.is_dir():
        pytest.skip(f"{UPSTREAM} is not there")
    name = cluster_name("katib")
    kubeconfig = ClusterPaths.of(name).kubeconfig
    more: dict[str, Any] = {
        "rehearsal_cluster_extras": ["katib"],
        "kubeflow_include": ["training-operator"],
        "training_operator_version": "1.9.4",
        "training_operator_source": str(kubeconfig.parent / "upstream/training-operator"),
    }
    try:
        play(name, "rehearsal", "install", inventory=INVENTORY, **more)
        yield kubeconfig
    finally:
        play(name, "rehearsal", state="absent", inventory=INVENTORY)


@pytest.fixture(scope="module")
def cluster(kubeconfig: Path) -> Cluster:
    return Cluster.connect(kubeconfig)


@pytest.fixture(scope="module")
def images(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    scratch, name = tmp_path_factory.mktemp("images"), kubeconfig.parent.name
    database = {**shell("cat", "echo"), **postgresql()}
    home = next(Path("/", place).parent for place in database if place.endswith("bin/postgres"))
    write_image(scratch / "database.tar", DATABASE, database, (f"PATH=/usr/local/bin:{home}:/bin",))
    programs = dict.fromkeys(("usr/bin/python", "usr/bin/torchrun"), TRAINED)
    training = {**shell("awk", "cat", "sed", "sleep"), **programs}
    # The examples write their program to /tmp.
    write_image(scratch / "training.tar", TRAINING, {**training, "tmp/about": "PyTorch is not in this image.\n"})
    waiting = {**shell("busybox", "grep", "seq", "sleep"), "bin/nslookup": FOUND}
    write_image(scratch / "waiting.tar", WAITING, waiting)
    with (
        on_the_node(name, scratch / "database.tar", DATABASE),
        on_the_node(name, scratch / "training.tar", TRAINING),
        on_the_node(name, scratch / "waiting.tar", WAITING),
    ):
        yield


def installed(kubeconfig: Path) -> str:
    """Upstream's manifests, with the image of the database, what that one needs, and TrainJobs.

    The overlay for PostgreSQL lacks these among the kinds that Katib watches; those of the releases have them.
    """
    overlay = kubeconfig.parent / OVERLAY
    build = [str(kubeconfig.parent / "bin/kustomize"), "build", str(overlay)]
    objects = [*foreign.parse(subprocess.run(build, check=True, capture_output=True).stdout, OVERLAY)]
    (settings,) = [obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == ("ConfigMap", "katib-config")]
    settings["data"]["katib-config.yaml"] = (overlay.parent / "katib-standalone/katib-config.yaml").read_text()
    (database,) = [obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == ("Deployment", "katib-postgres")]
    spec = database["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    container |= {"image": DATABASE, "imagePullPolicy": "Never", "command": ["/usr/local/bin/start"]}
    container["volumeMounts"] += [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108  of the container
    spec["volumes"] += [{"name": "tmp", "emptyDir": {}}]
    # The namespace asks for the Pod Security level restricted, which upstream's overlay for PostgreSQL does not reach.
    container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    user = {"runAsUser": USER, "runAsGroup": USER, "fsGroup": USER, "runAsNonRoot": True}
    spec["securityContext"] = {**user, "seccompProfile": {"type": "RuntimeDefault"}}
    return yaml.dump_all(objects, Dumper=foreign.Dumper)


@pytest.fixture(scope="module")
def katib(cluster: Cluster, kubeconfig: Path, images: None) -> None:  # noqa: ARG001  its pods start
    kubectl = [str(kubeconfig.parent / "bin/kubectl"), "--kubeconfig", str(kubeconfig)]
    apply = [*kubectl, "apply", "--server-side", "--force-conflicts", "-f", "-"]
    subprocess.run(apply, input=installed(kubeconfig), check=True, text=True, capture_output=True)
    names = ("katib-postgres", "katib-db-manager", "katib-controller")
    until(lambda: all(is_available(cluster, name) for name in names), 400)
    (pod,) = cluster.list("v1", "Pod", labels="katib.kubeflow.org/component=controller").items
    assert pod["spec"]["nodeName"] == "rehearsal-1"
    runtime = cluster.get(Ref("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "", "torch-distributed"))
    assert runtime
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    for job in jobs:
        for container in job["template"]["spec"]["template"]["spec"]["containers"]:
            container["image"] = TRAINING
    cluster.patch(Ref.of(runtime), {"spec": {"template": {"spec": {"replicatedJobs": jobs}}}})
    labels = {**dict([PROFILE]), "katib.kubeflow.org/metrics-collector-injection": "enabled"}
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": labels}})


def is_available(cluster: Cluster, name: str) -> bool:
    found = cluster.get(Ref("apps/v1", "Deployment", "kubeflow", name))
    return conditions(found or {}).get("Available", {}).get("status") == "True"


def stands_in(name: str) -> dict[str, str]:
    """The image of the example, and what it requests, by what stands in for them."""
    spec = load_example(name).objects[-1]["spec"]["trialTemplate"]["trialSpec"]["spec"]
    pods = [item["template"]["spec"] for item in spec.get("pytorchReplicaSpecs", {}).values()]
    return {**SMALL, **{container["image"]: TRAINING for pod in pods for container in pod["containers"]}}


@pytest.mark.usefixtures("katib")
@pytest.mark.parametrize("name", ["experiment", "experiment-trainjob"])
def test_an_experiment_finds_the_best_rate_by_gangs(cluster: Cluster, name: str) -> None:
    (example,) = load_example(name).objects
    example = renamed(example, stands_in(name))
    created = cluster.create({**example, "metadata": {**example["metadata"], "namespace": SPACE}})
    experiment = Ref.of(created)
    groups: dict[str, int] = {}
    schedulers: set[str] = set()
    failed: dict[str, str] = {}

    def ended() -> dict[str, Any]:
        for group in cluster.list(*VOLCANO.podgroup, namespace=SPACE).items:
            groups[group["metadata"]["name"]] = group["spec"]["minMember"]
        for pod in cluster.list("v1", "Pod", namespace=SPACE, labels="katib.kubeflow.org/trial").items:
            schedulers.add(pod["spec"]["schedulerName"])
            if pod["status"].get("phase") == "Failed":  # Katib removes it soon
                failed.setdefault(name_of(pod), said(cluster, pod))
        found = conditions(cluster.get(experiment) or {})
        return (
            found
            if {"Succeeded", "Failed"} & {kind for kind, item in found.items() if item["status"] == "True"}
            else {}
        )

    try:
        assert until(ended, 900).get("Succeeded", {}).get("status") == "True"
        status = (cluster.get(experiment) or {})["status"]
        trials = cluster.list(
            KATIB, "Trial", namespace=SPACE, labels=f"katib.kubeflow.org/experiment={name_of(example)}"
        )
        losses = {item["metadata"]["name"]: measured(item) for item in trials.items}
    except AssertionError as error:
        error.add_note(f"failed: {failed}, left: {state(cluster)}")
        raise
    finally:
        cluster.delete(experiment, uid=created["metadata"]["uid"])
        until(lambda: not cluster.list(KATIB, "Trial", namespace=SPACE).items, 120)
    assert status["trialsSucceeded"] == 4
    for rate, found in losses.values():
        assert found == pytest.approx(loss(rate), abs=1e-6)
    assert len({rate for rate, _ in losses.values()}) == 4
    best = status["currentOptimalTrial"]
    assert losses[best["bestTrialName"]][1] == min(found for _, found in losses.values())
    assert {trial for trial in losses if any(group.startswith(trial) for group in groups)} == losses.keys()
    assert {*groups.values()} == {2}
    assert schedulers == {"volcano"}


def said(cluster: Cluster, pod: Object) -> str:
    """How its containers ended, and their logs."""
    found = [str(pod["status"])]
    for container in pod["spec"]["containers"]:
        try:
            found.append(cluster.logs(SPACE, name_of(pod), container["name"]))
        except ApiError as error:
            found.append(str(error))
    return "\n".join(found)


def state(cluster: Cluster) -> dict[str, Any]:
    """The state of all trials, and the logs of what is there of their pods."""
    trials = {name_of(item): item.get("status") for item in cluster.list(KATIB, "Trial", namespace=SPACE).items}
    pods = cluster.list("v1", "Pod", namespace=SPACE).items
    return {**trials, **{name_of(pod): said(cluster, pod) for pod in pods}}


def name_of(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def measured(trial: Object) -> tuple[float, float]:
    """Its rate, and the loss that Katib read in its database."""
    (given,) = trial["spec"]["parameterAssignments"]
    (metric,) = trial["status"]["observation"]["metrics"]
    assert metric["name"] == "loss"
    return float(given["value"]), float(metric["latest"])


@pytest.mark.usefixtures("katib")
def test_j7_follows_both_to_their_end_and_removes_them(cluster: Cluster, kubeconfig: Path) -> None:
    options = Options(
        kubeconfig,
        release="26.03.1",
        profile="full",
        select=("J7", "I1"),
        acceptance=True,
        probe_namespace=SPACE,
        example_images=stands_in("experiment"),
        stability_seconds=1,
        report_dir=None,
    )
    report = validate(options, silent, timing=Timing(accept_seconds=600))
    found = {item.check.id: (str(item.outcome.status), item.outcome.message) for item in report.results}
    assert {id_: status for id_, (status, _) in found.items()} == {"J7": "pass", "I1": "pass"}, found
    assert "experiment completed" in found["J7"][1]
    assert "experiment-trainjob completed" in found["J7"][1]
    assert "simulated" not in found["J7"][1]
    until(lambda: not cluster.list(KATIB, "Trial", namespace=SPACE).items, 120)
