"""Rules about devices that pods get by ResourceClaims (DRA): the claims, templates and DeviceClasses that are named.

Which devices match, CEL expressions decide, which are not evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.text import did_you_mean, few
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, errored
from kubeflow_volcano.validators.explain.manifest.model import FILES, Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.rules.references import SERVED, is_here
from kubeflow_volcano.validators.explain.manifest.templates import Template, shown
from kubeflow_volcano.validators.explain.placement.dynamic_resources import (
    API,
    TEMPLATES,
    by_choice,
    classes_of,
    entries,
    listed,
    mapping,
    template_spec,
)
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES, GROUP, VERSIONS

KINDS: Mapping[str, str] = {
    "DeviceClass": CLASSES,
    "ResourceClaim": CLAIMS,
    "ResourceClaimTemplate": TEMPLATES,
}
"""Kinds of the API that rules know, each as `plural.group`."""
CEL = "CelNotEvaluated"
"""Reason of what no run judges: that it is said of a manifest says nothing about this one."""


def names_devices(manifest: Manifest) -> bool:
    """Whether it has pods with ResourceClaims, or is of the API of devices."""
    return manifest.ref.group == GROUP or any(map(_entries, manifest.templates))


def versions(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A version of the API of devices whose fields are not known.

    Rule: served versions of k8s.io/api/resource in zz_generated.prerelease-lifecycle.go, Kubernetes v1.30 to v1.37.
    """
    ref = manifest.ref
    served = facts.known(SERVED).get(ref.api_version, frozenset())
    offline = isinstance(facts.found.get(SERVED), Unread)
    if ref.group == GROUP and ref.kind in KINDS and ref.api_version not in VERSIONS and (offline or ref.kind in served):
        yield flaw(
            "DeviceApiUnknown",
            f"{ref.api_version} is an alpha version, or none at all: what this {ref.kind} requests was not judged.",
            needed=f"one of {', '.join(VERSIONS)}: v1 since Kubernetes 1.34.",
            todo="change apiVersion to one that the cluster serves (kubectl api-versions), and the fields with it.",
            blocks=False,
        )


def containers(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Claims that containers name and their pod does not have, and claims of a pod that no container names.

    Rules: validateResourceClaimNames of pkg/apis/core/validation, and GetResources of pkg/kubelet/cm/dra, Kubernetes
    v1.30 to v1.37.
    """
    for template in manifest.templates:
        has = {str(item.get("name")) for item in _entries(template)}
        used: set[str] = set()
        for item in _entries(template):
            if not {"resourceClaimName", "resourceClaimTemplateName"} & item.keys():
                below = " It is below source, where Kubernetes had it until 1.30." if item.get("source") else ""
                yield flaw(
                    "DeviceEntryEmpty",
                    f"resourceClaims entry {item.get('name')} names neither a claim nor a template.{below} The API "
                    "server refuses such a pod.",
                    needed="one of resourceClaimName and resourceClaimTemplateName in the entry itself.",
                    todo="move it out of source." if below else "name the claim or the template.",
                    words=["resourceClaimTemplateName"],
                )
        for path, container in template.containers:
            names = [str(item.get("name")) for item in listed(container.get("resources"), "claims")]
            used.update(names)
            for name in names:
                if name not in has:
                    yield flaw(
                        "DeviceEntryMissing",
                        f"{shown((*path, 'resources', 'claims'))} names {name}, which is not in resourceClaims of the "
                        f"pod: the API server refuses it.{did_you_mean(name, has)}",
                        needed=f"an entry {name} in {shown((*template.path, 'spec', 'resourceClaims'))}.",
                        todo="add the entry, with the name of a ResourceClaim or a ResourceClaimTemplate.",
                        words=[name, "must be one of the names in pod.spec.resourceClaims"],
                    )
        if unused := sorted(has - used):
            yield flaw(
                "DeviceUnused",
                f"{shown((*template.path, 'spec', 'resourceClaims'))}: no container names {few(unused)} in "
                "resources.claims: the pods get these devices, and no container sees them.",
                needed="the names in resources.claims of the containers that use the devices.",
                todo="add them there, or remove the entries.",
                blocks=False,
            )


def claims(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """ResourceClaims and templates that its pods name and that do not exist; or an API server without them.

    Rules: those of device_claims.py of placement.
    """
    found = [entry for item in manifest.templates for entry in entries(item.content)]
    if not found:
        return
    if not facts.known(API):
        yield flaw(
            "DevicesNotServed",
            "its pods name resourceClaims, and the API server serves resource.k8s.io in no version: it leaves the "
            "field out of pods, which then start without the devices.",
            needed="Kubernetes 1.34, or 1.32 with the API and the feature gate DynamicResourceAllocation switched on.",
            todo="request the devices as resources of a device plugin (nvidia.com/gpu), or upgrade the cluster.",
        )
        return
    named = dict.fromkeys(("ResourceClaim", item.claim) if item.claim else (_TEMPLATE, item.template) for item in found)
    for kind, name in named:
        if not is_here(KINDS[kind], manifest.space, name, facts):
            known = sorted(str(item["metadata"]["name"]) for item in facts.all(KINDS[kind]))
            field = "resourceClaimTemplateName" if kind == _TEMPLATE else "resourceClaimName"
            yield flaw(
                "DeviceTemplateMissing" if kind == _TEMPLATE else "DeviceClaimMissing",
                f"{kind} {manifest.space}/{name} does not exist: its pods stay Pending.{did_you_mean(name, known)}",
                needed=f"the {kind} in the namespace of the pods.",
                todo=f"create it, or correct {field}.",
            )


def classes(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """DeviceClasses that a claim or template requests devices of, and that do not exist.

    Rules: those of device_claims.py of placement.
    """
    for about, spec in _specs(manifest, facts) if facts.known(API) else ():
        for name in classes_of(spec):
            if not is_here(CLASSES, "", name, facts):
                known = sorted(str(item["metadata"]["name"]) for item in facts.all(CLASSES))
                yield flaw(
                    "DeviceClassMissing",
                    f"{about}requests devices of DeviceClass {name}, which does not exist: pods with such a claim stay "
                    f"Pending.{did_you_mean(name, known)}",
                    needed=f"an existing DeviceClass; there are {few(known) if known else 'none'}.",
                    todo="install the driver that brings the class, or correct deviceClassName.",
                )


def expressions(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Raises what is not judged, where CEL expressions decide which devices a claim gets.

    Rule: none of its own: expressions are not evaluated.
    """
    known = {str(item["metadata"]["name"]): item for item in facts.objects.get(CLASSES, ())}
    for _, spec in _specs(manifest, facts):
        if by_choice(spec, known.get):
            name = f"{manifest.kind} {manifest.ref.name}"
            message = f"CEL expressions, or what is free, decide which devices {name} gets: that was not judged."
            todo = "compare the expressions of its claims and their DeviceClasses with kubectl get resourceslices."
            raise CannotJudgeError(errored(CEL, message, todo=todo))
    yield from ()


_TEMPLATE = "ResourceClaimTemplate"


def _entries(template: Template) -> list[Object]:
    return listed(template.spec, "resourceClaims")


def _specs(manifest: Manifest, facts: Facts) -> Iterator[tuple[str, Object]]:
    """The spec of a claim that it is, and those that its pods name on the cluster; before each whose it is.

    What pods name in the files is judged there.
    """
    if manifest.ref.group == GROUP and manifest.kind in {"ResourceClaim", _TEMPLATE}:
        yield "it ", template_spec(manifest.obj) if manifest.kind == _TEMPLATE else mapping(manifest.obj.get("spec"))
    for template in manifest.templates:
        for item in entries(template.content):
            kind, name = ("ResourceClaim", item.claim) if item.claim else (_TEMPLATE, item.template)
            if KINDS[kind] in facts.unread or _is_in_files(kind, name, manifest, facts):
                continue
            if live := facts.get(KINDS[kind], manifest.space, name):
                yield f"{kind} {name} ", template_spec(live) if kind == _TEMPLATE else mapping(live.get("spec"))


def _is_in_files(kind: str, name: str, manifest: Manifest, facts: Facts) -> bool:
    return any(
        item["kind"] == kind
        and item["metadata"].get("name") == name
        and (item["metadata"].get("namespace") or manifest.namespace) == manifest.space
        for item in facts.known(FILES)
    )
