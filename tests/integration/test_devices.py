"""Devices that no GPU is: NPUs of Ascend as nodes offer them, and devices by ResourceClaims, which schedulers allocate.

Simulated nodes of two kinds stand for machines of Ascend, without the vendor's plugin. ResourceSlices stand for a
driver's; the real schedulers of Kubernetes 1.35 and Volcano 1.15.1 give the devices in them to pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.cluster.simulated_nodes import sync
from kubeflow_volcano.rehearsal.spec import NodeKind, RehearsalSpec
from kubeflow_volcano.validators.explain.manifest.judging import judge
from kubeflow_volcano.validators.explain.manifest.model import Manifest
from kubeflow_volcano.validators.explain.manifest.surroundings import surroundings
from kubeflow_volcano.validators.explain.model import Explanation, State
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.stages import explain
from kubeflow_volcano.validators.report.snapshot import snapshot
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import made, space
from tests.integration.volcanos import QUIET_SECONDS, Volcano, volcano
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1200)]

NPU, SMALL_NPU = "huawei.com/Ascend910", "huawei.com/Ascend310P"
KIND = "accelerator-type"
ARM = {"host-arch": "huawei-arm", "kubernetes.io/arch": "arm64"}
ATLAS = NodeKind(
    "atlas",
    2,
    {NPU: 8},
    {"accelerator": "huawei-Ascend910", KIND: "module-910b-8", "servertype": "Ascend910B-20", **ARM},
)
INFERENCE = NodeKind("atlas-infer", 1, {SMALL_NPU: 4}, {"accelerator": "huawei-Ascend310P", KIND: "card", **ARM})
API, DRIVER = "resource.k8s.io/v1", "gpu.example.com"
IS_OURS = f"device.driver == '{DRIVER}'"
IS_BIG = f"device.attributes['{DRIVER}'].model == 'big'"
SCHEDULERS = ("default-scheduler", "volcano")
VOLCANOS = "batch.volcano.sh/v1alpha1"


@pytest.fixture(scope="module")
def stand() -> Iterator[Volcano]:
    with volcano("1.35", nodes=(ATLAS, INFERENCE)) as found:
        found.installed()
        yield found


@pytest.fixture
def namespace(stand: Volcano) -> Iterator[str]:
    with space(stand.cluster) as name:
        yield name


def pod(scheduler: str = "volcano", number: int = 0, resource: str = NPU, **more: Any) -> Object:
    """The spec of a pod of one container, with so many of a resource."""
    asked: Object = {"requests": {"cpu": "10m"}, "limits": {resource: str(number)} if number else {}}
    container = {"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": asked | more.pop("resources", {})}
    rest = {"schedulerName": scheduler, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    return {**rest, "containers": [container], **more}


def gang(name: str, pods: int, minimum: int, spec: Object) -> Object:
    task = {"name": "w", "replicas": pods, "template": {"spec": spec}}
    whole = {"minAvailable": minimum, "schedulerName": "volcano", "tasks": [task]}
    return new_object(VOLCANOS, "Job", name, spec=whole)


def loose(name: str, pods: int, spec: Object) -> Object:
    """Pods of no gang."""
    template = {"metadata": {"labels": {"volcano.sh/job-name": name}}, "spec": spec}
    return new_object("batch/v1", "Job", name, spec={"parallelism": pods, "completions": pods, "template": template})


def of(scheduler: str, name: str, pods: int, spec: Object) -> Object:
    return gang(name, pods, pods, spec) if scheduler == "volcano" else loose(name, pods, spec)


def explained(stand: Volcano, namespace: str, name: str) -> Explanation:
    is_gang = stand.cluster.get(Ref(VOLCANOS, "Job", namespace, name))
    return explain(read_situation(stand.cluster, namespace, name, "vcjob" if is_gang else "jobs.batch"))


def causes(stand: Volcano, namespace: str, name: str) -> list[str]:
    return [item.reason for item in explained(stand, namespace, name).findings if item.blocks]


def stays(stand: Volcano, namespace: str, placed: int, *names: str) -> None:
    """So many pods of these jobs have a node in the end, and no more."""
    more = at_last(lambda: sum(stand.placed(namespace, *names)) > placed, wanted=True, seconds=QUIET_SECONDS, every=1)
    assert not more
    assert sum(stand.placed(namespace, *names)) == placed


def removed(stand: Volcano, namespace: str, job: Object) -> None:
    """The job is deleted, and its pods are gone."""
    name = job["metadata"]["name"]
    ref = Ref(job["apiVersion"], "Job", namespace, name)
    live = stand.cluster.get(ref)
    assert live is not None
    stand.cluster.delete(ref, uid=live["metadata"]["uid"], propagation="Foreground")
    until(lambda: stand.cluster.get(ref) is None)
    label = f"volcano.sh/job-name={name}"
    until(lambda: not stand.cluster.list("v1", "Pod", namespace=namespace, labels=label).items)


def counted(stand: Volcano, resource: str) -> list[dict[str, Any]]:
    """What the report counts of it."""
    options = Options(stand.kubeconfig, select=("A2", "C1", "C2"), read_only=True, stability_seconds=1, report_dir=None)
    rows = snapshot(validate(options, silent).facts)["accelerators"]
    keys = ("model", "nodes", "simulated", "allocatable", "requested")
    return [{key: row[key] for key in keys} for row in rows if row["resource"] == resource]


def test_a_gang_of_npus_is_placed_whole_or_not_at_all(stand: Volcano, namespace: str) -> None:
    """As H2 to H5, with NPUs as what is scarce: two machines of eight, and three pods of eight."""
    wide = gang("wide", 3, 3, pod(number=8))
    stand.create(namespace, wide)
    stays(stand, namespace, 0, "wide")
    assert causes(stand, namespace, "wide") == ["GangNeverFits"]
    for control in (gang("single", 3, 1, pod(number=8)), loose("default", 3, pod("default-scheduler", 8))):
        name = control["metadata"]["name"]
        stand.create(namespace, control)
        stays(stand, namespace, 2, name, "wide")
        assert stand.placed(namespace, name) == [2]
        expected = {"model": "module-910b-8", "nodes": 2, "simulated": 2, "allocatable": 16, "requested": 16}
        assert counted(stand, NPU) == [expected]
        removed(stand, namespace, control)

    sync(stand.cluster, RehearsalSpec(nodes=(replace(ATLAS, count=3), INFERENCE)))
    try:
        until(lambda: stand.nodes(namespace, "wide") == ["atlas-1", "atlas-2", "atlas-3"])
        until(lambda: explained(stand, namespace, "wide").state is State.STARTED, every=1)
    finally:
        removed(stand, namespace, wide)
        sync(stand.cluster, RehearsalSpec(nodes=(ATLAS, INFERENCE)))


def test_two_gangs_for_the_same_npus_run_one_after_the_other(stand: Volcano, namespace: str) -> None:
    """As H6, with pods of eight NPUs for its slots."""
    gangs = [gang(name, 2, 2, pod(number=8)) for name in ("first", "second")]
    for item in gangs:
        stand.create(namespace, item)
    until(lambda: sum(stand.placed(namespace, "first", "second")) == 2)
    stays(stand, namespace, 2, "first", "second")
    placed = stand.placed(namespace, "first", "second")
    assert sorted(placed) == [0, 2]
    winner, loser = gangs if placed[0] else reversed(gangs)
    assert causes(stand, namespace, loser["metadata"]["name"]) == ["NoNodeFits"]
    removed(stand, namespace, winner)
    until(lambda: stand.placed(namespace, loser["metadata"]["name"]) == [2])


@pytest.mark.parametrize(
    ("spec", "lacks"),
    [
        (pod(number=1, resource="huawei.com/Ascend310"), "no node has any huawei.com/Ascend310"),
        (pod(number=9), f"atlas-1, atlas-2: {NPU}: requests 9, 8 of 8 free"),
        (pod(number=1, nodeSelector={KIND: "module-910b-16"}), f"atlas-2: lacks the label {KIND}=module-910b-16"),
        (pod(number=1, resource=SMALL_NPU, nodeSelector={KIND: "module-910b-8"}), f"atlas-2: has no {SMALL_NPU}"),
    ],
)
def test_npus_that_no_node_has(stand: Volcano, namespace: str, spec: Object, lacks: str) -> None:
    stand.create(namespace, gang("none", 1, 1, spec))
    until(lambda: causes(stand, namespace, "none") == ["NoNodeFits"], every=1)
    (found,) = [item for item in explained(stand, namespace, "none").findings if item.blocks]
    assert [line for line in found.details if lacks in line]
    assert stand.placed(namespace, "none") == [0]


def test_npus_of_inference_are_another_resource_on_other_nodes(stand: Volcano, namespace: str) -> None:
    stand.create(namespace, gang("small", 4, 4, pod(number=1, resource=SMALL_NPU, nodeSelector={KIND: "card"})))
    until(lambda: stand.nodes(namespace, "small") == ["atlas-infer-1"] * 4)
    (row,) = counted(stand, SMALL_NPU)
    assert (row["model"], row["allocatable"], row["requested"]) == ("card", 4, 4)


def device_class(name: str, *expressions: str, **more: Any) -> Object:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    return new_object(API, "DeviceClass", name, spec={"selectors": selectors, **more})


def published(node: str, number: int) -> Object:
    """So many small devices of a node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"d{index}", "attributes": {"model": {"string": "small"}}} for index in range(number)]
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return new_object(API, "ResourceSlice", f"{node}-{DRIVER}", spec=spec)


def wanted(of_class: str, count: int = 1, **more: Any) -> Object:
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": of_class, "count": count, **more}}]}}


def template(of_class: str = "ours", count: int = 1, **more: Any) -> Object:
    return new_object(API, "ResourceClaimTemplate", "t", spec={"spec": wanted(of_class, count, **more)})


BY_TEMPLATE, BY_NAME = {"resourceClaimTemplateName": "t"}, {"resourceClaimName": "c"}


def by_claim(scheduler: str, entry: dict[str, str]) -> Object:
    return pod(scheduler, resources={"claims": [{"name": "d"}]}, resourceClaims=[{"name": "d", **entry}])


@pytest.fixture(scope="module")
def _driver(stand: Volcano) -> Iterator[None]:
    """Two nodes of two devices, and classes: of all of them, of those of a model, and of another driver."""
    objects = (
        *(published(node, 2) for node in ("gpu-1", "gpu-2")),
        device_class("ours", IS_OURS),
        device_class("big", f"{IS_OURS} && {IS_BIG}"),
        device_class("foreign", "device.driver == 'other.example.com'"),
    )
    with made(stand.cluster, *objects):
        yield


@pytest.mark.usefixtures("_driver")
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_claims_get_devices_as_long_as_there_are_any(stand: Volcano, namespace: str, scheduler: str) -> None:
    stand.create(namespace, template())
    first, second = (of(scheduler, name, pods, by_claim(scheduler, BY_TEMPLATE)) for name, pods in (("a", 2), ("b", 3)))
    stand.create(namespace, first)
    until(lambda: stand.placed(namespace, "a") == [2])
    until(lambda: explained(stand, namespace, "a").state is State.STARTED, every=1)
    stand.create(namespace, second)
    in_use = 2 if scheduler == "volcano" else 4  # without a gang those get a device that find one
    stays(stand, namespace, in_use, "a", "b")
    assert causes(stand, namespace, "b") == ["DevicesInUse"]
    expected = {"model": "big, ours", "nodes": 2, "simulated": 2, "allocatable": 4, "requested": in_use}
    assert counted(stand, f"devices of {DRIVER}") == [expected]
    removed(stand, namespace, first)
    until(lambda: stand.placed(namespace, "b") == [3])
    removed(stand, namespace, second)


@pytest.mark.usefixtures("_driver")
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(
    ("items", "entry", "reason"),
    [
        ([template(count=3)], BY_TEMPLATE, "DevicesTooFew"),
        ([template("big")], BY_TEMPLATE, "DeviceClaimsPending"),
        ([template(selectors=[{"cel": {"expression": IS_BIG}}])], BY_TEMPLATE, "DeviceClaimsPending"),
        ([template("foreign")], BY_TEMPLATE, "NoDeviceOfClass"),
        ([template("none")], BY_TEMPLATE, "DeviceClassMissing"),
        ([], BY_TEMPLATE, "DeviceTemplateMissing"),
        ([], BY_NAME, "DeviceClaimMissing"),
    ],
)
def test_claims_that_get_no_devices(  # noqa: PLR0917  one case
    stand: Volcano, namespace: str, scheduler: str, items: list[Object], entry: dict[str, str], reason: str
) -> None:
    for item in items:
        stand.create(namespace, item)
    job = of(scheduler, "waits", 1, by_claim(scheduler, entry))
    files = [Manifest("f", 1, {**job, "metadata": {**job["metadata"], "namespace": namespace}})]
    judged = judge(files, surroundings(files, stand.cluster)).manifests
    missing = {"DeviceClassMissing", "DeviceTemplateMissing", "DeviceClaimMissing"}
    assert missing.intersection(item.reason for each in judged for item in each.findings) == missing & {reason}

    stand.create(namespace, job)
    until(lambda: causes(stand, namespace, "waits") == [reason], every=1)
    assert stand.placed(namespace, "waits") == [0]


@pytest.mark.usefixtures("_driver")
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_claim_that_all_pods_share_gives_them_one_device(stand: Volcano, namespace: str, scheduler: str) -> None:
    """Volcano refuses the second pod of a gang until the first one is bound, which it never is."""
    stand.create(namespace, new_object(API, "ResourceClaim", "c", spec=wanted("ours")))
    job = of(scheduler, "sharing", 2, by_claim(scheduler, BY_NAME))
    stand.create(namespace, job)
    if scheduler == "volcano":
        until(lambda: causes(stand, namespace, "sharing") == ["DeviceClaimShared"], every=1)
        stays(stand, namespace, 0, "sharing")
        return
    until(lambda: stand.placed(namespace, "sharing") == [2])
    assert len(set(stand.nodes(namespace, "sharing"))) == 1
    assert [row["requested"] for row in counted(stand, f"devices of {DRIVER}")] == [1]
    removed(stand, namespace, job)
