"""Clusters with policies that deny."""

from __future__ import annotations

from tests.recorded.foreign.making import Making, Recipe
from tests.recorded.foreign.objects import container, deployment, helm, hook, namespace, node, obj, service
from tests.recorded.foreign.people import crd

_EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*/*"]}
_SYSTEM = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kyverno"]}
_ON = "policy-1"


def _policy(make: Making, name: str, rules: list[object], expression: str, message: str, **where: object) -> None:
    api = "admissionregistration.k8s.io/v1"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": expression, "message": message}],
    }
    make.apply(
        obj(api, "ValidatingAdmissionPolicy", name, spec=spec),
        obj(
            api,
            "ValidatingAdmissionPolicyBinding",
            name,
            spec={"policyName": name, "validationActions": ["Deny"], "matchResources": dict(where)},
        ),
    )


def _kyverno(make: Making) -> None:
    meta = helm("kyverno", "kyverno")
    make.apply(
        namespace("kyverno", **meta),
        crd("clusterpolicies", "ClusterPolicy", "kyverno.io", "v1", "v2beta1", scope="Cluster"),
    )
    for name in ("admission", "background", "cleanup", "reports"):
        labels = {"app.kubernetes.io/component": f"{name}-controller"}
        main = container("kyverno", f"ghcr.io/kyverno/kyverno-{name}:v1.13.2")
        make.apply(
            deployment(
                f"kyverno/kyverno-{name}-controller",
                main,
                on=_ON,
                replicas=3 if name == "admission" else 1,
                pod_labels=labels,
                **meta,
            )
        )
    make.apply(service("kyverno/kyverno-svc", {"app.kubernetes.io/component": "admission-controller"}, 443, **meta))
    make.ready()
    labels = {"webhook.kyverno.io/managed-by": "kyverno"}
    selector = {"matchExpressions": [_SYSTEM]}
    for kind, name in (
        ("Validating", "kyverno-resource-validating-webhook-cfg"),
        ("Mutating", "kyverno-resource-mutating-webhook-cfg"),
    ):
        make.apply(
            hook(
                kind,
                name,
                calls="kyverno/kyverno-svc",
                rules=[_EVERYTHING],
                policy="Fail",
                labels=labels,
                namespaceSelector=selector,
                timeoutSeconds=10,
            )
        )


def _gatekeeper(make: Making) -> None:
    make.apply(namespace("gatekeeper-system", labels={"admission.gatekeeper.sh/ignore": "no-self-managing"}))
    for name in ("audit", "controller-manager"):
        labels = {"control-plane": name, "gatekeeper.sh/system": "yes"}
        make.apply(
            deployment(
                f"gatekeeper-system/gatekeeper-{name}",
                container("manager", "openpolicyagent/gatekeeper:v3.17.1"),
                on=_ON,
                pod_labels=labels,
            )
        )
    make.apply(service("gatekeeper-system/gatekeeper-webhook-service", {"control-plane": "controller-manager"}, 443))
    make.ready()
    ignored = {"matchExpressions": [{"key": "admission.gatekeeper.sh/ignore", "operator": "DoesNotExist"}]}
    make.apply(
        hook(
            "Validating",
            "gatekeeper-validating-webhook-configuration",
            calls="gatekeeper-system/gatekeeper-webhook-service",
            rules=[_EVERYTHING],
            namespaceSelector=ignored,
            timeoutSeconds=3,
        )
    )


def policies(make: Making) -> None:
    """Kyverno and Gatekeeper listen, and the API server's own policies deny."""
    make.apply(node(_ON, labels={"pool": "policies"}))
    _kyverno(make)
    _gatekeeper(make)
    team = {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]}}
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    default = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}
    make.apply(namespace("team-ml", labels={"team": "ml"}))
    _policy(
        make,
        "require-team-label",
        [pods],
        "has(object.metadata.labels) && 'team' in object.metadata.labels",
        "every pod names its team",
        **team,
    )
    _policy(
        make, "disallow-default-namespace", [everything], "false", "nothing is created in namespace default", **default
    )


RECIPES = {
    "policies-that-deny": Recipe(
        "Kyverno by Helm and Gatekeeper intercept everything; policies of the API server deny pods without a team's "
        "label in teams' namespaces, and everything in namespace default, where dry runs are made.",
        "Kyverno's and Gatekeeper's objects are written from their charts and manifests (webhooks answered by a stub); "
        "the ValidatingAdmissionPolicies are real and denied while it was recorded;",
        policies,
        {"profile": "training"},
    ),
}
