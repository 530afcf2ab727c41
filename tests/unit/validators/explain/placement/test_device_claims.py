"""Pods that get devices by ResourceClaims: what is missing, what there is too little of, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.explain.model import Explanation
from kubeflow_volcano.validators.explain.placement.dynamic_resources import EVERY_CLAIM, device_class, entries, requests
from kubeflow_volcano.validators.reading.devices import CLAIMS, SLICES
from tests.samples.facts import instant
from tests.samples.jobs import SPACE, configured, event, explained, group, healthy, member, reasons, tfjob

V1 = "resource.k8s.io/v1"
GPU = "gpu.example.com"
BY_TEMPLATE = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]}
BY_NAME = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}]}
IS_GPU = f"device.driver == '{GPU}'"
CHOSEN = [{"cel": {"expression": "device.attributes['gpu.example.com'].model == 'big'"}}]
NOT_ALLOCATED = "0/2 nodes are available: 2 cannot allocate all claims."
KNOWS = """
actions: enqueue, allocate
tiers: [{plugins: [{name: gang}, {name: proportion},
  {name: predicates, arguments: {predicate.DynamicResourceAllocationEnable: true}}]}]
"""
SWITCHED_OFF = KNOWS.replace("true}", "false}")


def obj(kind: str, name: str, **rest: Any) -> Object:
    meta: Object = {"name": name, "uid": f"uid-{name}", "creationTimestamp": instant(60)}
    if kind.startswith("ResourceClaim"):
        meta["namespace"] = SPACE
    return {"apiVersion": V1, "kind": kind, "metadata": meta | rest.pop("metadata", {}), **rest}


def wants(count: int = 1, **more: Any) -> Object:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **more}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def template(count: int = 1, **more: Any) -> Object:
    return obj("ResourceClaimTemplate", "one-gpu", spec={"spec": wants(count, **more)})


def gpu_class(*expressions: str) -> Object:
    return obj("DeviceClass", "gpu", spec={"selectors": [{"cel": {"expression": text}} for text in expressions]})


def devices_of(node: str, number: int, *, driver: str = GPU, generation: int = 1, **more: Any) -> Object:
    spec = {
        "driver": driver,
        "nodeName": node,
        "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{index}", **more} for index in range(number)],
    }
    return obj("ResourceSlice", f"{node}-{driver}-{generation}", spec=spec)


def claim(name: str = "shared", *, has: Sequence[tuple[str, str]] = (), on: str = "", **more: Any) -> Object:
    """A claim with these devices, each a pool and a name; pending without any."""
    status: Object = {}
    if has:
        results = [{"request": "gpu", "driver": GPU, "pool": pool, "device": device} for pool, device in has]
        status = {"allocation": {"devices": {"results": results}}, **more.pop("status", {})}
    if on:
        fields = [{"key": "metadata.name", "operator": "In", "values": [on]}]
        status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return obj("ResourceClaim", name, spec=wants(), status=status, **more)


def waiting(job: Object, number: int = 0, *, said: str = "", made: str = "", **rest: Any) -> Object:
    """A pod of the job without a node; `made` is the claim that was made for it from its template."""
    status: Object = {"phase": "Pending"}
    if said:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "message": said}]
    if made:
        status["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": made}]
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    return member(job, number, spec={"resourceClaims": spec["resourceClaims"]}, status=status, **rest)


def volcano(image: str, *arguments: str) -> Object:
    """Volcano's scheduler of another version, with further arguments."""
    found = next(item for item in healthy() if item["metadata"]["name"] == "volcano-scheduler")
    pod = found["spec"]["template"]["spec"]
    first = pod["containers"][0]
    changed = {**first, "image": f"volcanosh/vc-scheduler:{image}", "args": [*first["args"], *arguments]}
    return {**found, "spec": {**found["spec"], "template": {"spec": {**pod, "containers": [changed]}}}}


NEW = (volcano("v1.15.1"), configured(KNOWS))


def answer(spec: Object, *around: Object, pods: int = 0, said: str = "", workers: int = 2, **how: Any) -> Explanation:
    """A gang whose pods name claims, on a Volcano that knows them."""
    job = tfjob(workers=workers, template=spec)
    members = [waiting(job, number, said=said) for number in range(pods)]
    return explained(job, group(job, workers, phase="Inqueue"), *members, *NEW, *around, **how)


@pytest.mark.parametrize(
    ("spec", "around", "reason", "about"),
    [
        (BY_TEMPLATE, [gpu_class()], "DeviceTemplateMissing", "one-gpu"),
        (BY_NAME, [gpu_class()], "DeviceClaimMissing", "shared"),
        (BY_TEMPLATE, [template(), devices_of("n1", 8)], "DeviceClassMissing", "gpu"),
        (BY_NAME, [claim(), devices_of("n1", 8)], "DeviceClassMissing", "gpu"),
        (
            BY_NAME,
            [claim(has=[("n1", "gpu-0")], metadata={"deletionTimestamp": instant(1)})],
            "DeviceClaimDeleted",
            "shared",
        ),
        (
            BY_NAME,
            [
                claim(
                    has=[("n1", "gpu-0")],
                    status={"reservedFor": [{"name": f"p{n}", "uid": f"u{n}"} for n in range(256)]},
                )
            ],
            "DeviceClaimFull",
            "shared",
        ),
    ],
)
def test_what_a_pod_s_claims_lack(spec: Object, around: list[Object], reason: str, about: str) -> None:
    for pods in (0, 2):
        found = [item for item in answer(spec, *around, pods=pods).findings if item.reason == reason]
        assert [[ref.name for ref in item.objects] for item in found] == [[about]]
        assert found[0].blocks


def test_the_scheduler_s_own_word_is_quoted() -> None:
    text = "request gpu: device class gpu does not exist"
    (found,) = answer(BY_NAME, claim(), pods=2, said=text).findings
    assert (found.reason, text in found.problem.found) == ("DeviceClassMissing", True)


def test_a_claim_with_devices_needs_no_class_any_more() -> None:
    assert reasons(answer(BY_NAME, claim(has=[("n1", "gpu-0")]), pods=2)) == ["Unexplained"]


def test_a_claim_that_nothing_makes() -> None:
    around = [template(), gpu_class(IS_GPU), devices_of("n1", 8)]
    assert "DeviceClaimNotMade" in reasons(answer(BY_TEMPLATE, *around, pods=2))
    job = tfjob(workers=1, template=BY_TEMPLATE)
    pod = waiting(job, metadata={"creationTimestamp": instant(2)})
    young = explained(job, group(job, 1, phase="Inqueue"), pod, *NEW, *around)
    assert "DeviceClaimNotMade" not in reasons(young)
    refused = event(pod, "FailedResourceClaimCreation", "exceeded quota: devices")
    (found,) = [
        item
        for item in explained(job, group(job, 1, phase="Inqueue"), pod, refused, *NEW, *around).findings
        if item.reason == "DeviceClaimNotMade"
    ]
    assert "exceeded quota" in found.problem.found


def test_no_claim_is_missed_for_a_pod_that_only_a_dry_run_made() -> None:
    job = tfjob(workers=1, template=BY_TEMPLATE)
    made = {"name": "kfv-dry-run", "uid": "of-a-dry-run", "creationTimestamp": instant(60)}
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = made
    around = [template(), gpu_class(IS_GPU), devices_of("n1", 8), *NEW]
    assert "DeviceClaimNotMade" not in reasons(explained(job, group(job, 1, phase="Inqueue"), *around))


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        ([gpu_class(IS_GPU)], "NoDeviceOfClass"),
        ([gpu_class(IS_GPU), devices_of("n1", 8, driver="other.example.com")], "NoDeviceOfClass"),
        ([gpu_class(f"{IS_GPU} && device.attributes['{GPU}'].type == 'gpu'")], "NoDeviceOfClass"),
        ([gpu_class(IS_GPU), devices_of("n1", 1), devices_of("n2", 1)], "DevicesTooFew"),
        # A pool's newest generation counts, and devices of nodes that are gone do not.
        ([gpu_class(IS_GPU), devices_of("n1", 8), devices_of("n1", 1, generation=2)], "DevicesTooFew"),
        ([gpu_class(IS_GPU), devices_of("gone", 8)], "DevicesTooFew"),
        # Two pods with two devices each need four.
        ([gpu_class(IS_GPU), devices_of("n1", 2)], "DevicesTooFew"),
        ([gpu_class(IS_GPU), devices_of("n1", 4), claim("other", has=[("n1", "gpu-0")])], "DevicesInUse"),
        ([gpu_class(IS_GPU), devices_of("n1", 4)], ""),
        ([gpu_class(IS_GPU), devices_of("n1", 2), devices_of("n2", 2)], ""),
        # Devices that several claims share have parts.
        ([gpu_class(IS_GPU), devices_of("n1", 1, allowMultipleAllocations=True)], ""),
        # Of a network, they are reached from any node.
        ([gpu_class(IS_GPU), devices_of("", 4)], ""),
    ],
)
def test_devices_are_counted_as_room(around: list[Object], expected: str) -> None:
    found = reasons(answer(BY_TEMPLATE, template(2), *around))
    assert found == [expected or "Unexplained"]


def test_pods_that_the_gang_can_start_without_need_no_devices() -> None:
    job = tfjob(template=BY_TEMPLATE)
    around = [template(2), gpu_class(IS_GPU), devices_of("n1", 2), *NEW]
    assert reasons(explained(job, group(job, 1, phase="Inqueue"), *around)) == ["Unexplained"]
    assert reasons(explained(job, group(job, 2, phase="Inqueue"), *around)) == ["DevicesTooFew"]


def test_an_administrator_s_request_takes_no_device() -> None:
    other = claim("other", has=[("n1", "gpu-0")])
    other["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    around = [template(), gpu_class(IS_GPU), devices_of("n1", 2), other]
    assert reasons(answer(BY_TEMPLATE, *around)) == ["Unexplained"]


@pytest.mark.parametrize(
    ("made_from", "of_class"),
    [
        (template(selectors=CHOSEN), IS_GPU),
        (template(allocationMode="All"), IS_GPU),
        (template(), f"{IS_GPU} && device.attributes['{GPU}'].type == 'gpu'"),
        (template(), "device.attributes['x'].type == 'gpu'"),
    ],
)
def test_how_many_devices_match_expressions_is_not_known(made_from: Object, of_class: str) -> None:
    around = [made_from, gpu_class(of_class), devices_of("n1", 8)]
    (found,) = [item for item in answer(BY_TEMPLATE, *around).findings if item.reason == "DeviceClaimsPending"]
    assert ("not known" in found.problem.found, found.blocks) == (True, False)


def test_pending_and_allocated_claims_are_shown_with_the_scheduler_s_word() -> None:
    job = tfjob(template=BY_TEMPLATE)
    pods = [waiting(job, number, said=NOT_ALLOCATED, made=f"made-{number}") for number in range(2)]
    claims = [
        claim("made-0", has=[("n1", "gpu-0")], status={"reservedFor": [{"name": "x", "uid": "u"}]}),
        claim("made-1"),
    ]
    around = [template(), gpu_class(IS_GPU), devices_of("n1", 8)]
    found = explained(job, group(job, phase="Inqueue"), *pods, *claims, *NEW, *around).findings
    (told,) = [item for item in found if item.reason == "DeviceClaimsPending"]
    assert told.blocks
    assert told.details[0] == NOT_ALLOCATED
    assert [line.partition(": ")[2].partition(":")[0] for line in told.details[1:]] == ["allocated", "pending"]


def test_a_gang_that_shares_a_claim_without_devices_waits_for_itself() -> None:
    said = "plugin DynamicResources pre-predicates failed resource claim a/shared is in the process of being allocated"
    around = [claim(), gpu_class(IS_GPU), devices_of("n1", 8)]
    assert reasons(answer(BY_NAME, *around, pods=2, said=said)) == ["DeviceClaimShared"]


def test_pods_go_where_the_devices_of_their_claim_are() -> None:
    around = [claim(has=[("n1", "gpu-0")], on="n1"), gpu_class(IS_GPU), devices_of("n1", 1)]
    assert reasons(answer(BY_NAME, *around)) == ["Unexplained"]
    assert reasons(answer(BY_NAME, *around, without=["n1"])) == ["NoNodeFitsDeviceClaim"]


def test_what_may_not_be_read_is_said_and_nothing_else_of_devices() -> None:
    denied = Unread("Forbidden", "you may not list them", "grant it")
    around = [template(), gpu_class(IS_GPU), devices_of("n1", 4), claim("other", has=[("n1", "gpu-0")])]
    for key in (CLAIMS, SLICES, EVERY_CLAIM):
        found = answer(BY_TEMPLATE, *around, unread={key: denied})
        assert not [item for item in found.findings if "Device" in item.reason], key
        assert denied in found.unread
    missing = answer(BY_TEMPLATE, gpu_class(IS_GPU), unread={EVERY_CLAIM: denied})
    assert reasons(missing) == ["DeviceTemplateMissing"]


@pytest.mark.parametrize(
    ("scheduler", "configuration", "ignores"),
    [
        (volcano("v1.10.0"), KNOWS, True),
        (volcano("v1.12.2"), KNOWS, True),
        (volcano("v1.12.2", "--feature-gates=DynamicResourceAllocation=true"), KNOWS, False),
        (volcano("v1.14.4"), KNOWS, False),
        (volcano("v1.14.4"), KNOWS.replace("predicate.Dynamic", "predicate.Other"), True),
        (volcano("v1.15.1"), KNOWS.replace("predicate.Dynamic", "predicate.Other"), False),
        (volcano("v1.15.1"), SWITCHED_OFF, True),
        (volcano("latest"), SWITCHED_OFF, False),
    ],
)
def test_a_volcano_that_ignores_claims(scheduler: Object, configuration: str, ignores: bool) -> None:  # noqa: FBT001
    job = tfjob(template=BY_NAME)
    pods = [waiting(job, number) for number in range(2)]
    around = [claim(), gpu_class(IS_GPU), devices_of("n1", 4), scheduler, configured(configuration)]
    found = reasons(explained(job, group(job, phase="Inqueue"), *pods, *around))
    assert ("ClaimsIgnored" in found) == ignores


def test_requests_of_every_version_and_classes_by_their_driver() -> None:
    flat = {"name": "gpu", "deviceClassName": "gpu", "count": 2}
    older, newer = ({"devices": {"requests": [item]}} for item in (flat, {"name": "gpu", "exactly": flat}))
    assert [*requests(older)] == [*requests(newer)] == [(flat,)]
    listed = {"devices": {"requests": [{"name": "gpu", "firstAvailable": [flat, flat]}]}}
    assert [*requests(listed)] == [(flat, flat)]
    known = [
        (IS_GPU, GPU, True),
        (f'device.driver=="{GPU}" && true', GPU, False),
        (f"{IS_GPU} && a || b", "", False),
        (f"!({IS_GPU})", "", False),
        (f"{IS_GPU} && a ? b : c", "", False),
    ]
    for text, driver, whole in known:
        found = device_class(gpu_class(text))
        assert (found.driver, found.whole) == (driver, whole), text
    assert device_class(gpu_class()).whole


def test_an_entry_for_which_no_claim_is_needed_is_none() -> None:
    pod = {"spec": BY_TEMPLATE, "status": {"resourceClaimStatuses": [{"name": "gpu"}]}}
    assert not [*entries(pod)]
    assert [item.template for item in entries({"spec": BY_TEMPLATE})] == ["one-gpu"]
    assert not [*entries({"spec": {"resourceClaims": [{"name": "gpu", "podGroupResourceClaim": "x"}]}})]
