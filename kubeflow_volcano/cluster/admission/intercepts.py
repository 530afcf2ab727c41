"""Which objects an admission webhook sees, and which workloads answer for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref, group_of

__all__ = ["WEBHOOK_KINDS", "Webhook", "backends", "labelled", "selects", "webhooks"]

WEBHOOK_KINDS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})


@dataclass(frozen=True, slots=True)
class Webhook:
    """One entry of a webhook configuration; `owner` is the configuration."""

    owner: Ref
    text: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the entry."""
        name: str = self.text["name"]
        return name

    @property
    def matters(self) -> bool:
        """Whether its silence would refuse an object, or leave it without what it adds."""
        return self.text.get("failurePolicy", "Fail") != "Ignore" or self.owner.kind.startswith("Mutating")

    @property
    def service(self) -> tuple[str, str] | None:
        """Namespace and name of the Service behind it; None for one behind a URL."""
        service = self.text["clientConfig"].get("service")
        return (service["namespace"], service["name"]) if service else None

    def intercepts(self, obj: Object, namespace: Object, plural: str = "") -> bool:
        """Whether creating `obj` in `namespace` would be sent to it; `plural` where English does not make it."""
        return (
            self.names(obj, plural)
            and self.watches(obj if obj["kind"] == "Namespace" else namespace)
            and selects(self.text.get("objectSelector"), obj["metadata"].get("labels") or {})
        )

    def names(self, obj: Object, plural: str = "") -> bool:
        """Whether its rules name what `obj` is; that differs by API version, kind, and being in a namespace only."""
        plural = plural or _plural(obj["kind"])
        return any(_matches(rule, obj, plural) for rule in self.text.get("rules") or ())

    def watches(self, namespace: Object) -> bool:
        """Whether it sees objects of that namespace; cluster-scoped objects, whose namespace has no name, it sees."""
        meta = namespace["metadata"]
        return not meta["name"] or selects(self.text.get("namespaceSelector"), meta.get("labels") or {})


def labelled(namespace: Object | None, name: str) -> Object:
    """A namespace with the label that the API server gives each one; `namespace` may be not at hand."""
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    return {"kind": "Namespace", "metadata": {"name": name, "labels": {**labels, "kubernetes.io/metadata.name": name}}}


@cache
def _plural(kind: str) -> str:
    word = kind.lower()
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def webhooks(objects: Iterable[Object]) -> Iterator[Webhook]:
    """Every entry of every webhook configuration among `objects`."""
    for obj in objects:
        if obj["kind"] in WEBHOOK_KINDS:
            for text in obj.get("webhooks") or ():
                yield Webhook(Ref.of(obj), text)


def backends(hook: Webhook, objects: Iterable[Object]) -> tuple[Object, ...]:
    """The workloads among `objects` whose pods the webhook's Service selects."""
    found = tuple(objects)
    for service in found:
        meta = service["metadata"]
        if service["kind"] == "Service" and (meta.get("namespace", ""), meta["name"]) == hook.service:
            selector = service["spec"].get("selector") or {}
            return tuple(obj for obj in found if selector and _serves(obj, meta.get("namespace", ""), selector))
    return ()


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches; an absent or empty one matches everything."""
    selector = selector or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(rule, labels) for rule in selector.get("matchExpressions") or ())


def _holds(rule: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
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


def _matches(rule: Mapping[str, Any], obj: Object, plural: str) -> bool:
    return (
        _listed(rule["resources"], plural, "*/*")
        and _listed(rule["apiGroups"], group_of(obj["apiVersion"]))
        and _listed(rule["operations"], "CREATE")
        and _listed(rule["apiVersions"], obj["apiVersion"].rpartition("/")[2])
        and rule.get("scope", "*") in {"*", "Namespaced" if obj["metadata"].get("namespace") else "Cluster"}
    )


def _listed(listed: Sequence[str], *names: str) -> bool:
    return "*" in listed or any(name in listed for name in names)


def _serves(obj: Object, namespace: str, selector: Mapping[str, str]) -> bool:
    if obj["metadata"].get("namespace", "") != namespace:
        return False
    template = obj.get("spec", {}).get("template") if isinstance(obj.get("spec"), dict) else None
    labels = ((template or {}).get("metadata") or {}).get("labels") or {}
    return obj["kind"] in {"DaemonSet", "Deployment", "StatefulSet"} and selector.items() <= labels.items()
