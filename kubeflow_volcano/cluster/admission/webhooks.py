"""Which objects an admission webhook intercepts, and which workloads are its backend."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, group_of

WEBHOOK_KINDS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})

_API = "admissionregistration.k8s.io/v1"
_OF_NAME = "kubernetes.io/metadata.name"
CA_FROM = "cert-manager.io/inject-ca-from"
"""Annotation with namespace and name of the Certificate whose authority cert-manager writes into the configuration."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a webhook configuration; `owner` is the configuration."""

    owner: Ref
    text: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The webhook's own name."""
        name: str = self.text["name"]
        return name

    def is_required(self, optional: Collection[str] = ()) -> bool:
        """Whether it must answer first: otherwise objects would be rejected, or created without its mutations.

        `optional` names webhooks whose mutations no object needs.
        """
        mutates = self.owner.kind.startswith("Mutating") and self.name not in optional
        return mutates or self.text.get("failurePolicy", "Fail") != "Ignore"

    @property
    def service(self) -> tuple[str, str] | None:
        """Namespace and name of its Service; None if it is reached by a URL."""
        service = self.text["clientConfig"].get("service")
        return (service["namespace"], service["name"]) if service else None

    def intercepts(self, obj: Object, namespace: Object, plural: str) -> bool:
        """Whether the API server calls it when `obj`, of the resource `plural`, is created in `namespace`."""
        return (
            self.matches_rules(obj, plural)
            and self.matches_namespace(obj if obj["kind"] == "Namespace" else namespace)
            and selects(self.text.get("objectSelector"), obj["metadata"].get("labels") or {})
        )

    def matches_rules(self, obj: Object, plural: str) -> bool:
        """Whether its rules match the creation of `obj`, by API version, resource and scope."""
        return any(matches(rule, obj, plural) for rule in self.text.get("rules") or ())

    def matches_namespace(self, namespace: Object) -> bool:
        """Whether it intercepts objects in a namespace; one without a name is cluster scope, which always matches."""
        meta = namespace["metadata"]
        return not meta["name"] or selects(self.text.get("namespaceSelector"), meta.get("labels") or {})


def labelled_namespace(namespace: Object | None, name: str) -> Object:
    """A namespace with the name label that the API server sets on each; None stands for an unknown one."""
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    return {"kind": "Namespace", "metadata": {"name": name, "labels": {**labels, _OF_NAME: name}}}


def webhook_configurations(cluster: Cluster) -> list[Object]:
    """All that the cluster has; raises ApiError where the API server does not list them."""
    return [item for kind in sorted(WEBHOOK_KINDS) for item in cluster.list(_API, kind).items]


def webhooks(objects: Iterable[Object]) -> Iterator[Webhook]:
    """Every webhook of every webhook configuration among `objects`."""
    for obj in objects:
        if obj["kind"] in WEBHOOK_KINDS:
            for text in obj.get("webhooks") or ():
                yield Webhook(Ref.of(obj), text)


def backends(hook: Webhook, objects: Iterable[Object]) -> tuple[Object, ...]:
    """The workloads among `objects` whose pods the webhook's Service selects."""
    every = tuple(objects)
    for service in every:
        meta = service["metadata"]
        if service["kind"] == "Service" and (meta.get("namespace", ""), meta["name"]) == hook.service:
            return selected(service, every)
    return ()


def selected(service: Object, objects: Iterable[Object]) -> tuple[Object, ...]:
    """The workloads among `objects` whose pods a Service selects; none without a selector."""
    namespace, selector = service["metadata"].get("namespace", ""), service["spec"].get("selector") or {}
    return tuple(obj for obj in objects if selector and _is_selected(obj, namespace, selector))


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches; an absent or empty one matches everything."""
    selector = selector or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_is_met(rule, labels) for rule in selector.get("matchExpressions") or ())


def ways_out(text: Mapping[str, Any]) -> Iterator[str]:
    """What leaves a pod out of a webhook or a policy with these selectors, by the labels that they already look at."""
    for field, what in (("namespaceSelector", "namespace"), ("objectSelector", "pod")):
        selector = text.get(field) or {}
        wanted = [*(selector.get("matchLabels") or {})]
        for rule in selector.get("matchExpressions") or ():
            if rule["key"] == _OF_NAME:
                continue  # each namespace has its own, which the API server writes
            if rule["operator"] == "NotIn" and rule.get("values"):
                yield f"the label {rule['key']}={rule['values'][0]} on the {what}"
            elif rule["operator"] == "DoesNotExist":
                yield f"the label {rule['key']} on the {what}"
            else:
                wanted.append(rule["key"])
        yield from (f"no label {key} on the {what}" for key in wanted if key != _OF_NAME)


def _is_met(rule: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(rule["key"]), rule.get("values") or ()
    match rule["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def matches(rule: Mapping[str, Any], obj: Object, plural: str) -> bool:
    """Whether a rule of a webhook or an admission policy is about the creation of `obj`."""
    return (
        _lists(rule["resources"], plural, "*/*")
        and _lists(rule["apiGroups"], group_of(obj["apiVersion"]))
        and _lists(rule["operations"], "CREATE")
        and _lists(rule["apiVersions"], obj["apiVersion"].rpartition("/")[2])
        and rule.get("scope", "*") in {"*", "Namespaced" if obj["metadata"].get("namespace") else "Cluster"}
    )


def _lists(listed: Sequence[str], *names: str) -> bool:
    return "*" in listed or any(name in listed for name in names)


def _is_selected(obj: Object, namespace: str, selector: Mapping[str, str]) -> bool:
    if obj["metadata"].get("namespace", "") != namespace:
        return False
    template = obj.get("spec", {}).get("template") if isinstance(obj.get("spec"), dict) else None
    labels = ((template or {}).get("metadata") or {}).get("labels") or {}
    return obj["kind"] in {"DaemonSet", "Deployment", "StatefulSet"} and selector.items() <= labels.items()
