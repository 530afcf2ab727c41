"""What the objects of a component say about it: the derived fields of its entry in the catalog.

A render would give each of them, where there is one. They are in the file for readers that have none:

| fields | read without a render by |
|---|---|
| namespaces, claims, queue_fields, scheduler_actions, scheduler_plugins | the settings, which judge an inventory before anything is fetched; the hosts' directories and the script of the local path provisioner, which come before other components are built |
| images, labels, crds, webhooks, policies, injected | the validators, which have a cluster and no manifests, and find out with them which release that is; plan and roll-out of a part, which wait for kinds of components that they do not build |
| selectors, stored, and what webhooks intercept | upgrades, for which the former version would have to be fetched and built, too |
| objects | the report of `derive`: what came or went and no other field names |
"""  # noqa: E501  rows are lines

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from kubeflow_volcano.catalog.evictions.lacking import actions_of, plugins_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.mesh import INJECTION, SELECTING, selector_of
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.foreign import read_yaml
from kubeflow_volcano.problems import InvalidInput

FACTS = (
    "objects",
    "namespaces",
    "injected",
    "policies",
    "images",
    "selectors",
    "labels",
    "crds",
    "stored",
    "webhooks",
    "claims",
    "queue_fields",
    "scheduler_actions",
    "scheduler_plugins",
)
"""The fields of a component that its objects say."""

_WORKLOADS = ("Job", "Deployment", "StatefulSet", "DaemonSet")
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_CRD = "CustomResourceDefinition"
_CLAIM = "PersistentVolumeClaim"
_CONFIGURATION = "volcano-scheduler.conf"
_QUEUES = "queues.scheduling.volcano.sh"
_VERSION = "app.kubernetes.io/version"


def facts_of(objects: Sequence[Object]) -> dict[str, Any]:
    """The derived fields; those that would be empty are absent. Fields are described in schemas/component.json.

    Raises:
        InvalidInput: an object lacks what its kind has.
    """
    try:
        return _facts_of(objects)
    except (AttributeError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise InvalidInput.problem(
            f"objects whose fields are not those of their kinds ({type(error).__name__}: {error}).",
            "manifests that an API server takes.",
            "correct SOURCE.",
        ) from error


def _facts_of(objects: Sequence[Object]) -> dict[str, Any]:
    workloads = sorted(
        (obj for obj in objects if obj["kind"] in _WORKLOADS and obj["spec"].get("replicas") != 0),
        key=lambda obj: (_WORKLOADS.index(obj["kind"]), _name(obj)),
    )
    found = {
        "objects": len(objects),
        "namespaces": sorted({*_namespaces(objects)}),
        "injected": sorted(
            obj["metadata"]["name"]
            for obj in objects
            if obj["kind"] == "Namespace" and (obj["metadata"].get("labels") or {}).get(INJECTION) == "enabled"
        ),
        "policies": sorted(_name(obj) for obj in objects if obj["kind"] in SELECTING and selector_of(obj)),
        "images": {_name(obj): dict(_images(obj)) for obj in workloads},
        "selectors": {_name(obj): text for obj in workloads if (text := _selector(obj))},
        "labels": {
            _name(obj): str(label)
            for obj in workloads
            if (label := (obj["metadata"].get("labels") or {}).get(_VERSION))
        },
        "crds": {
            obj["metadata"]["name"]: sorted(item["name"] for item in obj["spec"]["versions"] if item["served"])
            for obj in sorted(objects, key=_name)
            if obj["kind"] == _CRD
        },
        "stored": {
            obj["metadata"]["name"]: stored
            for obj in sorted(objects, key=_name)
            if obj["kind"] == _CRD and (stored := _stored(obj))
        },
        "webhooks": {
            _name(obj): sorted({*_intercepted(obj)}) for obj in sorted(objects, key=_name) if obj["kind"] in _WEBHOOKS
        },
        "claims": [_claim(obj, objects) for obj in sorted(objects, key=_name) if obj["kind"] == _CLAIM],
        "queue_fields": _queue_fields(objects),
        **_configured(objects),
    }
    return {name: value for name, value in found.items() if value}


def _name(obj: Object) -> str:
    """As the catalog writes it: kind, namespace if there is one, name."""
    ref = Ref.of(obj)
    return f"{ref.kind} {ref.namespace}/{ref.name}" if ref.namespace else f"{ref.kind} {ref.name}"


def _namespaces(objects: Sequence[Object]) -> Iterator[str]:
    for obj in objects:
        if obj["kind"] == "Namespace":
            yield obj["metadata"]["name"]
        elif space := obj["metadata"].get("namespace"):
            yield space


def _pod(workload: Object) -> Mapping[str, Any]:
    found: Mapping[str, Any] = workload["spec"]["template"]["spec"]
    return found


def _images(workload: Object) -> Iterator[tuple[str, str]]:
    pod = _pod(workload)
    for item in (*(pod.get("initContainers") or ()), *pod["containers"]):
        yield item["name"], str(ImageName.parse(item["image"]) or item["image"])


def _selector(workload: Object) -> str:
    """The selector of a workload, which is immutable, as kubectl writes it; a Job gets one from its controller."""
    selector = workload["spec"].get("selector") or {}
    labels = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    others = [
        f"{item['key']} {item['operator']} ({'|'.join(sorted(item.get('values') or ()))})"
        for item in selector.get("matchExpressions") or ()
    ]
    return ",".join(sorted([*labels, *others]))


def _stored(crd: Object) -> str:
    """The version in which objects are stored; empty where it is the only one that is served."""
    stored = next((item["name"] for item in crd["spec"]["versions"] if item.get("storage")), "")
    served = [item["name"] for item in crd["spec"]["versions"] if item["served"]]
    return "" if served == [stored] else stored


def _intercepted(configuration: Object) -> Iterator[str]:
    """The resources that it intercepts, without subresources; where it is all of a group, that group."""
    for hook in configuration.get("webhooks") or ():
        for rule in hook.get("rules") or ():
            for resource in rule.get("resources") or ():
                name = resource.partition("/")[0]
                yield from (f"*.{group}" for group in rule.get("apiGroups") or ()) if name == "*" else (name,)


def _claim(claim: Object, objects: Sequence[Object]) -> dict[str, Any]:
    """A claim and the identity of the workload that mounts it; a container outranks its pod."""
    ref = Ref.of(claim)
    found: dict[str, Any] = {
        "namespace": ref.namespace,
        "name": ref.name,
        "size": claim["spec"]["resources"]["requests"]["storage"],
    }
    for obj in objects:
        if obj["kind"] not in _WORKLOADS or Ref.of(obj).namespace != ref.namespace:
            continue
        pod = _pod(obj)
        volumes = {
            item["name"]
            for item in pod.get("volumes") or ()
            if (item.get("persistentVolumeClaim") or {}).get("claimName") == ref.name
        }
        for container in pod["containers"]:
            if volumes & {mount["name"] for mount in container.get("volumeMounts") or ()}:
                of_pod = pod.get("securityContext") or {}
                both = of_pod | (container.get("securityContext") or {})
                return found | {
                    "consumer": _name(obj),
                    "run_as_user": both.get("runAsUser"),
                    "run_as_group": both.get("runAsGroup"),
                    "fs_group": of_pod.get("fsGroup"),
                    **({"fs_group_change_policy": policy} if (policy := of_pod.get("fsGroupChangePolicy")) else {}),
                }
    return found | {"consumer": "", "run_as_user": None, "run_as_group": None, "fs_group": None}


def _queue_fields(objects: Sequence[Object]) -> list[str]:
    """Of Volcano: the fields of its queues, from the schema of their CRD."""
    return sorted(
        {
            name
            for obj in objects
            if obj["kind"] == _CRD and obj["metadata"]["name"] == _QUEUES
            for version in obj["spec"]["versions"]
            if version["served"]
            for name in version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        }
    )


def _configured(objects: Sequence[Object]) -> dict[str, list[str]]:
    """Of Volcano: the actions and plugins in the configuration that its manifest brings for its scheduler."""
    for obj in objects:
        if obj["kind"] == "ConfigMap" and (text := (obj.get("data") or {}).get(_CONFIGURATION)):
            parsed = read_yaml(text) or {}
            plugins = {item["name"] for item in plugins_of(parsed)}
            return {"scheduler_actions": actions_of(parsed), "scheduler_plugins": sorted(plugins)}
    return {}
