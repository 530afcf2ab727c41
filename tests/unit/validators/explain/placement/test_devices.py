"""Resources that only the scheduler's own books count, as plugin deviceshare does with parts of cards."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Object
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


def refused(job: Object) -> Object:
    said = {"type": "PodScheduled", "status": "False", "message": "not enough gpu fitted on this node"}
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
    assert found.details == ("mnist-worker-0: not enough gpu fitted on this node",)


def test_the_scheduler_s_configuration_tells_of_them_before_anything_runs() -> None:
    job = tfjob(workers=1, template=asking())
    around = [CARDS, group(job, 1, phase="Inqueue"), refused(job)]
    assert reasons(explained(job, *around, configured(SHARED))) == ["DevicesNotCounted"]
    assert reasons(explained(job, *around)) == ["NoNodeFitsAbsent"]


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
