"""Which MutatingAdmissionPolicies of a cluster change an object at its creation.

Rules: apiserver/pkg/admission/plugin/policy of Kubernetes (generic/policy_matcher.go, matching/matching.go): v1alpha1
from v1.32, v1beta1 from v1.34 and v1 from v1.36 on. A policy without a binding does nothing; matchConditions, which are
programs, are not evaluated: such a policy counts as one that may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeflow_volcano.cluster.admission.webhooks import matches, selects
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object

VERSIONS = tuple(f"admissionregistration.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
"""API versions that may have them, the newest first."""
POLICY, BINDING = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"
_LASTING = tuple(version for version in VERSIONS if "alpha" not in version)


def policy_api(cluster: Cluster) -> str:
    """The newest API, beta at least, that serves policies that change objects; empty for none.

    Raises:
        ApiError: the API server refuses the question.
    """
    return next((api for api in _LASTING if {POLICY, BINDING} <= cluster.kinds(api).keys()), "")


def policies_for(objects: Iterable[Object], obj: Object, namespace: Object, plural: str) -> Iterator[Object]:
    """The policies among `objects`, which has their bindings too, that are asked about the creation of `obj`."""
    every = list(objects)
    bindings = [item["spec"] for item in every if item["kind"] == BINDING]
    for item in every:
        if item["kind"] != POLICY or not _is_met(item["spec"].get("matchConstraints"), obj, namespace, plural):
            continue
        bound = (spec for spec in bindings if spec.get("policyName") == item["metadata"]["name"])
        if any(_is_met(spec.get("matchResources"), obj, namespace, plural) for spec in bound):
            yield item


def _is_met(constraints: Mapping[str, Any] | None, obj: Object, namespace: Object, plural: str) -> bool:
    """Whether such constraints, of a policy or a binding, hold for the object; without any they do."""
    found = constraints or {}
    rules = found.get("resourceRules")
    return (
        (not rules or any(matches(rule, obj, plural) for rule in rules))
        and not any(matches(rule, obj, plural) for rule in found.get("excludeResourceRules") or ())
        and selects(found.get("namespaceSelector"), namespace["metadata"].get("labels") or {})
        and selects(found.get("objectSelector"), obj["metadata"].get("labels") or {})
    )
