"""Clusters on which Volcano was installed in another way."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import yaml

from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.recorded.foreign.authorities import issued, pem, private
from tests.recorded.foreign.making import Making, Recipe
from tests.recorded.foreign.objects import helm, namespace

_SECRET = Ref("v1", "Secret", "volcano-system", "volcano-admission-secret")
_ADMISSION = Ref("apps/v1", "Deployment", "volcano-system", "volcano-admission")
_HOST = "volcano-admission-service"
_ELSEWHERE = "batch-system"


def intermediate(make: Making) -> None:
    """A company's authority signs Volcano's certificate through an intermediate one, for a wildcard name."""
    root = issued("Example Root CA", None)
    middle = issued("Example Issuing CA 7", root)
    leaf = issued(_HOST, middle, ("*.volcano-system.svc", "*.volcano-system.svc.cluster.local"))
    data = {"tls.crt": pem(leaf[0], middle[0]), "tls.key": private(leaf), "ca.crt": pem(root[0])}
    make.stack.callback(_restarted, make)
    make.change(_SECRET, {"data": {name: base64.b64encode(text).decode() for name, text in data.items()}})
    _restarted(make)
    bundle = base64.b64encode(pem(root[0])).decode()
    make.until(lambda: all(bundle == item for item in _bundles(make)))


def _configurations(make: Making) -> dict[tuple[str, str], Object]:
    """Volcano's webhook configurations by kind and name."""
    kinds = [f"{kind}WebhookConfiguration" for kind in ("Mutating", "Validating")]
    return {
        (kind, item["metadata"]["name"]): item
        for kind in kinds
        for item in make.cluster.list("admissionregistration.k8s.io/v1", kind).items
        if item["metadata"]["name"].startswith("volcano-admission-service")
    }


def _bundles(make: Making) -> list[str]:
    every = [entry for item in _configurations(make).values() for entry in item["webhooks"]]
    return [entry["clientConfig"].get("caBundle", "") for entry in every]


def _restarted(make: Making) -> None:
    at = datetime.now(UTC).isoformat()
    mark = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": at}}}
    make.cluster.patch(_ADMISSION, {"spec": {"template": mark}})
    make.until(lambda: _alone(make))


def _alone(make: Making) -> bool:
    live = make.cluster.get(_ADMISSION) or {}
    status = live["status"]
    seen = status.get("observedGeneration") == live["metadata"]["generation"]
    return bool(
        seen and status.get("replicas") == status.get("updatedReplicas") == status.get("availableReplicas") == 1
    )


def by_helm(make: Making) -> None:
    """Volcano as its chart installs it, in another namespace. Afterwards Volcano is gone from there.

    Run playbooks/install.yml to have it again where it was.
    """
    text = (make.home / "upstream/volcano/installer/volcano-development.yaml").read_text(encoding="utf-8")
    for name in ("volcano-system", "volcano-monitoring"):
        _gone(make, Ref("v1", "Namespace", "", name))
    for kind, name in _configurations(make):
        _gone(make, Ref("admissionregistration.k8s.io/v1", kind, "", name))
    make.without(APPLIED_OBJECTS)  # this project rolled nothing out there
    meta = helm("volcano", _ELSEWHERE)
    make.apply(namespace(_ELSEWHERE))
    found: list[Object] = [item for item in yaml.safe_load_all(text.replace("volcano-system", _ELSEWHERE)) if item]
    hooks = [item for item in found if item["kind"].endswith("WebhookConfiguration")]
    for item in [item for item in found if item not in hooks] + hooks:
        if item["kind"] == "Namespace" or item["metadata"].get("namespace") == "volcano-monitoring":
            continue
        if item["kind"] == "CustomResourceDefinition":
            continue  # they are there, and Helm leaves them alone, too
        for key, marks in meta.items():
            item["metadata"][key] = {**(item["metadata"].get(key) or {}), **marks}
        make.apply(item)
    make.ready()
    make.until(lambda: _authority(make) in _bundles(make))
    make.until(lambda: len({*_bundles(make)}) == 1)


def _authority(make: Making) -> str:
    secret = make.cluster.get(_SECRET._replace(namespace=_ELSEWHERE)) or {}
    return str(secret.get("data", {}).get("ca.crt", ""))


def _gone(make: Making, ref: Ref) -> None:
    if live := make.cluster.get(ref):
        make.cluster.delete(ref, uid=live["metadata"]["uid"])
        make.until(lambda: make.cluster.get(ref) is None)


RECIPES = {
    "intermediate-authority": Recipe(
        "Volcano's webhooks are served with a wildcard certificate that a company's intermediate authority signed; "
        "the caBundle holds the root alone.",
        "Made by exchanging the Secret of Volcano's admission; the API server called the webhooks meanwhile;",
        intermediate,
        {"profile": "training"},
    ),
    "volcano-by-helm": Recipe(
        "Volcano by Helm, in namespace batch-system.",
        "Made of Volcano 1.10.0's manifests with the names and marks of its chart; Volcano and its webhooks run;",
        by_helm,
        {"profile": "training"},
    ),
}
