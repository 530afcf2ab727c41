"""NPUs of Ascend with the vendor's plugin of Volcano."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.volcano import configuration_of
from kubeflow_volcano.validators.explain.model import Explanation
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import unknown_plugins
from tests.samples.jobs import configured, explained, group, member, node, tfjob
from tests.samples.manifests import made, reasons

NPU = "huawei.com/Ascend910"
PLUGIN = "volcano-npu_v6.0.RC1_linux-x86_64"


def configuration(plugin: str = PLUGIN) -> str:
    return f"""
actions: enqueue, allocate
tiers: [{{plugins: [{{name: gang}}, {{name: {plugin}}}, {{name: predicates}}, {{name: proportion}}]}}]
configurations: [{{name: init-params, arguments: {{grace-over-time: "900"}}}}]
"""


def asking(number: int) -> Object:
    return {"containers": [{"name": "tensorflow", "resources": {"limits": {NPU: str(number)}}}]}


def answer(
    number: int,
    used: str = "",
    *,
    plugin: str = PLUGIN,
    kind: str = "module",
    selector: str = "",
    mark: str | None = None,
) -> Explanation:
    """A pod that asks for NPUs, beside one that has the `used` ones of the only machine and says so."""
    spec = asking(number) | ({"nodeSelector": {"accelerator-type": selector}} if selector else {})
    job, other = tfjob(workers=1, template=spec), tfjob("other", workers=1)
    machine = node("atlas", allocatable={NPU: "8"}, labels={"accelerator-type": kind})
    around = [machine, group(job, 1, phase="Inqueue"), member(job, spec=spec), configured(configuration(plugin))]
    if used:
        ids = ",".join(f"Ascend910-{item}" for item in used)
        has = {"annotations": {NPU: ids if mark is None else mark}}
        around += [group(other, 1), member(other, on="atlas", spec=asking(len(used)), metadata=has)]
    return explained(job, *around)


def told(found: Explanation) -> list[str]:
    return [item.reason for item in found.findings if item.reason.startswith("Npu")]


@pytest.mark.parametrize(
    ("number", "used", "reason"),
    [
        (4, "", []),
        (4, "0", []),
        (4, "04", ["NpuTopology"]),
        (2, "0145", []),
        (2, "012456", ["NpuTopology"]),
        (1, "0123456", []),
        (8, "", []),
        (3, "", ["NpuNumber"]),
        (6, "", ["NpuNumber"]),
    ],
)
def test_npus_of_a_pod_are_of_one_ring(number: int, used: str, reason: list[str]) -> None:
    found = answer(number, used)
    assert told(found) == reason
    assert all(item.blocks and item.objects[0].name == "mnist-worker-0" for item in found.findings if reason)


def test_what_is_not_known_is_no_verdict() -> None:
    assert told(answer(3, plugin="predicates2")) == []
    assert told(answer(3, plugin="volcano-npu_v26.0.0_linux-aarch64")) == []
    assert told(answer(4, "04", kind="module-910b-8", selector="module-910b-8")) == []
    assert told(answer(3, kind="module-910b-8", selector="module-910b-8")) == []
    assert told(answer(4, "04", mark="")) == []
    assert told(answer(4, "04", mark="Ascend910-x,Ascend910-99")) == []


def test_the_vendor_s_plugin_is_recognised() -> None:
    parsed = {"actions": "allocate", "tiers": [{"plugins": [{"name": PLUGIN}, {"name": "volcano-npv"}]}]}
    found = configuration_of(Ref("v1", "ConfigMap", "a", "b"), "c", parsed, ())
    assert set(unknown_plugins(found, "1.10.0")) == {"volcano-npv"}


def test_templates_of_an_ascendjob_are_judged() -> None:
    pod = {"schedulerName": "volcano", "containers": [{"name": "ascend", "image": "example/train:1"}]}
    spec = {"schedulerName": "volcano", "replicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": pod}}}}
    job = made("mindxdl.gitee.com/v1", "AscendJob", "train", spec=spec)
    assert "RequestsMissing" in reasons(job, offline=True)
