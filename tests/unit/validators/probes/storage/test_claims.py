"""What keeps a probe's claim from having a volume, against a server that shows a provisioner's pods."""

from __future__ import annotations

import re
from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.probes.storage.claims import because_of
from tests.samples.facts import deployment, facts, obj

UID = "0a1b2c3d-0000-4000-8000-000000000001"
HELPER = f"helper-pod-create-pvc-{UID}"
PODS = "/api/v1/namespaces/local-path-storage/pods"
WAITING = "the probe pod is still Pending after 60 s: no event says why"
CLAIM: Object = {
    "metadata": {"name": "c", "namespace": "mine", "uid": UID},
    "spec": {"storageClassName": "local-path"},
}


def known() -> Facts:
    return facts(
        obj("StorageClass", "local-path", provisioner="rancher.io/local-path"),
        deployment("local-path-storage/local-path-provisioner"),
        workloads=["local-path Deployment local-path-storage/local-path-provisioner"],
    )


def served(api: Any, *pods: Object, log: str = "", warnings: tuple[Object, ...] = ()) -> Session:
    resources = [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": True} for kind in ("Pod", "Event")]
    api.on("GET", "/api/v1", api.reply(body={"resources": resources}))
    api.on("GET", PODS, api.reply(body={"metadata": {"resourceVersion": "1"}, "items": list(pods)}))
    api.on("GET", f"{PODS}/{HELPER}/log", api.reply(200, log.encode()))
    for namespace, items in {"mine": (), "local-path-storage": warnings}.items():
        events = {"metadata": {"resourceVersion": "1"}, "items": list(items)}
        api.on("GET", f"/api/v1/namespaces/{namespace}/events", api.reply(body=events))
    return Session(api.connect())


def helper(phase: str, name: str = HELPER) -> Object:
    meta = {"name": name, "namespace": "local-path-storage", "uid": name}
    return {"metadata": meta, "spec": {"containers": [{"name": "helper-pod"}]}, "status": {"phase": phase}}


def test_the_pod_in_which_the_provisioner_failed_is_the_cause_with_the_end_of_its_log(api: Any) -> None:
    last = "mkdir: can't create directory '/opt/volumes/pvc': Read-only file system"
    log = f"first\n{last}\n"
    session = served(api, helper("Failed"), helper("Failed", "helper-pod-create-pvc-of-another"), log=log)
    text = because_of(session, known(), CLAIM, WAITING)
    assert re.match("[^:]*Pending after 60 s: Pod local-path-storage/helper-pod-create-pvc-", text)
    assert text.endswith(f": {last}")
    assert "of-another" not in text


def test_a_provisioner_that_is_still_at_work_is_no_cause(api: Any) -> None:
    assert because_of(served(api, helper("Running")), known(), CLAIM, WAITING) == WAITING


def test_what_kept_the_pod_from_running_stays_in_the_text(api: Any) -> None:
    kept = "image x: not found"
    text = because_of(served(api, helper("Failed"), log="no\n"), known(), CLAIM, kept)
    assert text.startswith(f"{kept}; Pod local-path-storage/")


def test_an_image_that_the_provisioner_has_removed_its_pod_for_is_known_from_events(api: Any) -> None:
    said = 'failed to resolve reference "tools.example/helper:9": tools.example/helper:9: not found'
    of_another = HELPER.replace("1", "2")
    warnings = tuple(
        {
            "metadata": {"name": f"e{number}", "namespace": "local-path-storage", "uid": str(number)},
            "involvedObject": {"name": name},
            "message": text,
        }
        for number, (name, text) in enumerate(
            [(HELPER, said), (HELPER, "Error: ErrImagePull"), (of_another, said.replace("9", "8"))]
        )
    )
    text = because_of(served(api, warnings=warnings), known(), CLAIM, WAITING)
    assert text.endswith(f"the provisioner's pod in local-path-storage: {said}")
