"""Resources that only the scheduler's own books count, as plugin deviceshare does with parts of cards."""

from __future__ import annotations

import json

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import Explanation
from kubeflow_volcano.validators.explain.placement.devices import names_unoffered
from tests.samples.jobs import configured, explained, group, member, node, reasons, tfjob

NUMBER, MEMORY = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory"
CARDS = node("a", allocatable={NUMBER: "10"})
SHARED = """
actions: enqueue, allocate
tiers: [{plugins: [{name: gang}, {name: predicates}, {name: proportion},
  {name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}]}]
"""


def asking(number: str = "1") -> Object:
    return {"containers": [{"name": "tensorflow", "resources": {"limits": {NUMBER: number, MEMORY: "2048"}}}]}


SAID = "not enough gpu fitted on this node"


def refused(job: Object) -> Object:
    said = {"type": "PodScheduled", "status": "False", "message": SAID}
    return member(job, spec=asking("2"), status={"conditions": [said]})


def test_what_a_neighbour_runs_with_is_no_misspelt_name() -> None:
    job, other = tfjob(workers=1, template=asking("2")), tfjob("other", workers=1, template=asking())
    around = [
        CARDS,
        group(job, 1, phase="Inqueue"),
        refused(job),
        group(other, 1),
        member(other, on="a", spec=asking()),
    ]
    (found,) = explained(job, *around).findings
    assert (found.reason, found.blocks) == ("DevicesNotCounted", True)
    assert MEMORY in found.problem.found
    assert found.details == (f"mnist-worker-0: {SAID}",)


def test_the_scheduler_s_configuration_tells_of_them_before_anything_runs() -> None:
    job = tfjob(workers=1, template=asking())
    around = [CARDS, group(job, 1, phase="Inqueue"), refused(job)]
    assert reasons(explained(job, *around, configured(SHARED))) == ["DevicesNotCounted"]
    assert reasons(explained(job, *around)) == ["NoNodeFitsAbsent"]


@pytest.mark.parametrize(
    ("resource", "switch", "expected"),
    [
        ("huawei.com/Ascend910B3-memory", "AscendHAMiVNPUEnable", "DevicesNotCounted"),
        ("huawei.com/Ascend910B3-memory", "AscendMindClusterVNPUEnable", "NoNodeFitsAbsent"),
        ("huawei.com/npu-core", "AscendMindClusterVNPUEnable", "NoNodeFitsAbsent"),
    ],
)
def test_of_virtual_npus_nodes_have_cores_and_no_memory(resource: str, switch: str, expected: str) -> None:
    spec = {"containers": [{"name": "tensorflow", "resources": {"limits": {resource: "1"}}}]}
    job = tfjob(workers=1, template=spec)
    around = [group(job, 1, phase="Inqueue"), member(job, spec=spec)]
    assert reasons(explained(job, *around, configured(SHARED.replace("VGPUEnable", switch)))) == [expected]


@pytest.mark.parametrize("resource", ["example.org/gpu", "deviceclass.resource.kubernetes.io/gpu"])
@pytest.mark.parametrize("scheduler", ["default-scheduler", "volcano"])
def test_what_a_device_class_has_under_the_name_of_a_resource_is_not_absent(resource: str, scheduler: str) -> None:
    """Volcano compares requests with nodes alone."""
    spec = {
        "containers": [{"name": "tensorflow", "resources": {"limits": {resource: "1"}}}],
        "schedulerName": scheduler,
    }
    job = tfjob(workers=1, template=spec)
    offers = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
    around = [group(job, 1, phase="Inqueue"), refused(job) | {"spec": spec}]
    expected = {"default-scheduler": "DevicesNotCounted", "volcano": "NoNodeFitsAbsent"}[scheduler]
    found = reasons(explained(job, *around, offers | {"spec": {"extendedResourceName": "example.org/gpu"}}))
    assert expected in found
    assert len({"DevicesNotCounted", "NoNodeFitsAbsent"}.intersection(found)) == 1
    assert "NoNodeFitsAbsent" in reasons(explained(job, *around))


def test_a_class_may_have_what_only_some_nodes_have_from_a_device_plugin() -> None:
    resource = "example.org/gpu"
    spec = {
        "containers": [{"name": "tensorflow", "resources": {"limits": {resource: "1"}}}],
        "schedulerName": "default-scheduler",
    }
    job = tfjob(workers=1, template=spec)
    around = [group(job, 1, phase="Inqueue"), refused(job) | {"spec": spec}]

    def told(*nodes: Object) -> Explanation:
        return explained(job, *around, *nodes, without=["n1", "n2"])

    having, other = (node(name, allocatable={resource: "1"}) for name in ("a", "b"))
    assert names_unoffered(told(having, node("c")).situation)
    assert not names_unoffered(told(having, other).situation)


def test_what_a_device_plugin_no_longer_offers_is_absent_though_a_pod_holds_it() -> None:
    job, other = tfjob(workers=1, template=asking()), tfjob("other", workers=1, template=asking())
    around = [group(job, 1, phase="Inqueue"), refused(job), group(other, 1), member(other, on="a", spec=asking())]
    gone = node("a", allocatable={NUMBER: "10", MEMORY: "0"})
    assert reasons(explained(job, *around, gone)) == ["NoNodeFitsAbsent"]


def test_each_virtual_gpu_of_a_container_is_on_another_card() -> None:
    job = tfjob(workers=1, template=asking("2"))

    def told(cards: int) -> list[str]:
        card = node("a", allocatable={NUMBER: "10"})
        register = "".join(f"GPU-{n},10,24576,NVIDIA-A10,true:" for n in range(cards))
        card["metadata"]["annotations"] = {"volcano.sh/node-vgpu-register": register}
        return reasons(explained(job, card, group(job, 1, phase="Inqueue"), refused(job), configured(SHARED)))

    assert told(1) == ["CardsTooFew"]
    assert told(2) == ["DevicesNotCounted"]


VOLCANOS, HAMIS = "volcano.sh/node-vgpu-register", "hami.io/node-nvidia-register"
OF_VOLCANO = "GPU-0,10,16384,NVIDIA-A10,true,hami-core:GPU-1,10,16384,NVIDIA-A10,true,hami-core:"
"""Two cards, as the device plugin writes them since v1.10.0."""
HAMI_TEXTS = [
    "GPU-0,10,16384,100,NVIDIA-A10,0,true:GPU-1,10,16384,100,NVIDIA-A10,0,true:",
    "GPU-0,10,16384,100,NVIDIA-A10,0,true,0,hami-core:GPU-1,10,16384,100,NVIDIA-A10,0,true,1,hami-core:",
    json.dumps(
        [{"id": id_, "count": 10, "devmem": 16384, "devcore": 100, "health": True} for id_ in ("GPU-0", "GPU-1")]
    ),
]
"""The same, as HAMi writes them up to v2.4, from v2.5 and from v2.8 on."""


def answer(
    register: str,
    limits: Object,
    *,
    key: str = VOLCANOS,
    on_card: str = "",
    workers: int = 1,
    scheduler: str = "volcano",
    allocatable: Object | None = None,
) -> Explanation:
    """A gang that asks for parts of the cards of node a, beside a pod that has some."""
    spec = {"schedulerName": scheduler, "containers": [{"name": "tensorflow", "resources": {"limits": limits}}]}
    job, other = tfjob(workers=workers, template=spec), tfjob("other", workers=1)
    nodes = node("a", allocatable=dict.fromkeys(limits, "100000") if allocatable is None else allocatable)
    nodes["metadata"]["annotations"] = {key: register}
    has = {"volcano.sh/vgpu-ids-new": on_card, "hami.io/vgpu-devices-allocated": on_card}
    holder = member(other, on="a", metadata={"annotations": has})
    pods = [member(job, number, spec=spec) for number in range(workers)]
    around = [nodes, group(job, workers, phase="Inqueue"), *pods, group(other, 1), holder, configured(SHARED)]
    return explained(job, *around)


def wants(number: int = 1, memory: int = 0, cores: int = 0, *, of: str = "volcano.sh/vgpu-") -> Object:
    names = ("nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores")
    if of:
        names = (f"{of}number", f"{of}memory", f"{of}cores")
    return {name: str(amount) for name, amount in zip(names, (number, memory, cores), strict=True) if amount}


@pytest.mark.parametrize(
    ("limits", "on_card", "workers", "reason", "line"),
    [
        (wants(1, 20000), "", 1, "CardsTooFew", "0 of 2 cards"),
        (wants(1, 10000), "GPU-0,NVIDIA,8000,10:;GPU-1,NVIDIA,8000,10:", 1, "CardsFull", "0 of 2 cards"),
        (wants(1, 10000), "GPU-0,NVIDIA,8000,10:", 1, "", "1 of 2 cards"),
        (wants(2, 10000), "GPU-0,NVIDIA,8000,10:", 1, "CardsFull", "1 of 2 cards"),
        (wants(1, 1000, 60), "GPU-0,NVIDIA,100,50:", 1, "", "1 of 2 cards"),
        (wants(1, 1000, 60), "GPU-0,NVIDIA,100,50:", 2, "CardsFull", "1 of 2 cards"),
        (wants(1, 1000, 60), "", 3, "CardsTooFew", "2 of 2 cards"),
        (wants(1, 1000, 100), "GPU-0,NVIDIA,1,0:;GPU-1,NVIDIA,1,0:", 1, "CardsFull", "0 of 2 cards"),
        (wants(1, 1000), "GPU-0,NVIDIA,1,100:;GPU-1,NVIDIA,1,100:", 1, "CardsFull", "0 of 2 cards"),
        (wants(1), "GPU-0,NVIDIA,1,0:", 1, "", "1 of 2 cards"),
        (wants(3, 1000), "", 1, "CardsTooFew", "2 of 2 cards"),
    ],
)
def test_cards_have_room_for_what_is_asked_of_one(
    limits: Object, on_card: str, workers: int, reason: str, line: str
) -> None:
    found = answer(OF_VOLCANO, limits, on_card=on_card, workers=workers).findings[0]
    assert (found.reason, found.blocks) == (reason or "DevicesNotCounted", bool(reason))
    assert found.details[-1].startswith(f"a: {line} with room")


def of_devices(found: Explanation) -> list[str]:
    return [reason for reason in reasons(found) if reason.startswith(("Cards", "Devices"))]


@pytest.mark.parametrize("text", HAMI_TEXTS, ids=["2.4", "2.5", "2.8"])
def test_hami_s_cards_are_read_in_each_of_its_forms(text: str) -> None:
    def told(memory: int, on_card: str = "") -> list[str]:
        has = {"nvidia.com/gpu": "20"}
        asked = wants(1, memory, of="")
        found = answer(text, asked, key=HAMIS, on_card=on_card, scheduler="hami-scheduler", allocatable=has)
        return of_devices(found)

    assert told(20000) == ["CardsTooFew"]
    assert told(10000, "GPU-0,NVIDIA,8000,0:;GPU-1,NVIDIA,8000,0:;") == ["CardsFull"]
    assert told(10000, "GPU-0,NVIDIA,8000,0:;") == ["DevicesNotCounted"]


@pytest.mark.parametrize(
    "text",
    ["x", "GPU-0", "GPU-0,ten,1,NVIDIA,true:", "GPU-0,1:", "a,10,16384,NVIDIA,true,mig:", ",,,,:", "GPU-0,10,16384"],
)
def test_odd_annotations_are_unread_and_no_verdict(text: str) -> None:
    found = answer(text, wants(1, 20000)).findings[0]
    assert (found.reason, found.blocks) == ("DevicesNotCounted", False)
    assert "registers no cards" in found.details[-1]


@pytest.mark.parametrize("text", ["[", '["x"]', '[{"count":1,"health":true}]', "[1]", '{"id":"x"}', "GPU-0,1,1:", "[]"])
def test_odd_annotations_of_hami_are_unread_and_no_verdict(text: str) -> None:
    has = {"nvidia.com/gpu": "20"}
    asked = wants(1, 20000, of="")
    found = answer(text, asked, key=HAMIS, scheduler="hami-scheduler", allocatable=has)
    assert of_devices(found) == ["CardsTooFew" if text == "[]" else "DevicesNotCounted"]


def test_odd_annotations_of_pods_leave_their_node_unread() -> None:
    found = answer(OF_VOLCANO, wants(1, 20000), on_card="GPU-0,NVIDIA,much,0:").findings[0]
    assert (found.reason, found.blocks) == ("DevicesNotCounted", False)


def test_volcano_does_not_look_at_cards_of_hami() -> None:
    assert of_devices(answer(HAMI_TEXTS[0], wants(1, 20000, of=""), key=HAMIS)) == []


def test_a_node_with_cards_of_which_nothing_is_known_may_have_room() -> None:
    has = {"nvidia.com/gpu": "8"}
    job = tfjob(workers=1, template={"schedulerName": "hami-scheduler", **gpu(wants(1, 20000, of=""))})
    small, other = node("a", allocatable=has), node("b", allocatable=has)
    small["metadata"]["annotations"] = {HAMIS: HAMI_TEXTS[0]}
    pod = member(job, spec={"schedulerName": "hami-scheduler", **gpu(wants(1, 20000, of=""))})
    assert of_devices(explained(job, small, other, group(job, 1), pod)) == ["DevicesNotCounted"]
    assert of_devices(explained(job, small, group(job, 1), pod)) == ["CardsTooFew"]


def gpu(limits: Object) -> Object:
    return {"containers": [{"name": "tensorflow", "resources": {"limits": limits}}]}
