"""Whose a live object is: marks of other tools, and field managers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.foreign import read_json

_ANNOTATIONS: Mapping[str, str] = {
    "meta.helm.sh/release-name": "Helm release",
    "argocd.argoproj.io/tracking-id": "Argo CD application",
}
_LABELS: Mapping[str, str] = {
    "argocd.argoproj.io/instance": "Argo CD application",
    "helm.toolkit.fluxcd.io/name": "Flux HelmRelease",
    "kustomize.toolkit.fluxcd.io/name": "Flux Kustomization",
    "olm.owner": "Operator Lifecycle Manager's",
    "addonmanager.kubernetes.io/mode": "add-on manager, mode",
    "install.operator.istio.io/owning-resource": "Istio operator's",
}
"""Helm adds its annotations only to what it installs itself (helm/helm, pkg/action/validate.go); rendered charts have
the label managed-by too. Manifests that istioctl rendered name the owner 'unknown'."""

_NO_OWNER = frozenset({"", "unknown"})


def mark_of(obj: Object) -> str:
    """The tool that marks the object as its own; empty if there is no mark."""
    meta = obj["metadata"]
    for marks, known in ((meta.get("annotations"), _ANNOTATIONS), (meta.get("labels"), _LABELS)):
        for key, words in known.items():
            value = (marks or {}).get(key, "")
            if value not in _NO_OWNER:
                return f"{words} {value}"
    owner = next((item for item in meta.get("ownerReferences") or () if item.get("controller")), None)
    return f"{owner['kind']} {owner['name']}" if owner else ""


def owner_of(obj: Object) -> str:
    """The tool that marks the object as its own, else the field managers that made it, or those that are left."""
    meta = obj["metadata"]
    entries = [entry for entry in meta.get("managedFields") or () if not entry.get("subresource")]
    first = [entry for entry in entries if entry.get("time") == meta.get("creationTimestamp")]
    managers = sorted({entry["manager"] for entry in first or entries if "manager" in entry})
    return mark_of(obj) or f"field manager {', '.join(managers) or 'unknown'}"


@dataclass(frozen=True, slots=True)
class Written:
    """A field that a field manager has: its path, whose it is, and when that manager wrote last (RFC 3339)."""

    path: tuple[str, ...]
    manager: str
    time: str

    @property
    def field(self) -> str:
        """The path as people write it; items of a list by what tells them apart."""
        return "".join(key if key.startswith("[") else f".{key}" for key in self.path).removeprefix(".")


def writers_of(obj: Object, *path: str) -> tuple[str, ...]:
    """The field managers that wrote the field at this path, the last of them last; none where nothing tells."""
    return tuple(dict.fromkeys(item.manager for item in _written(obj) if item.path[: len(path)] == path))


def written_since(obj: Object) -> tuple[Written, ...]:
    """Fields of the spec that others than its creator have by now, the latest last: what they changed or added.

    A manager takes a field from another one by giving it another value (apimachinery, util/managedfields, update).
    Who made the object has an entry of its creation's time, or the first one where it has written since; of custom
    resources it has the spec itself, too (the key `.`).
    """
    entries = tuple(item for item in _written(obj) if item.path[0] == "spec")
    created = str(obj["metadata"].get("creationTimestamp") or "")
    times = sorted({item.time for item in _written(obj)})
    first = created if created in times else next(iter(times), "")
    creators = {item.manager for item in _written(obj) if item.time == first} | _makers(obj)
    own = {item.path for item in entries if item.manager in creators}
    return tuple(item for item in entries if item.manager not in creators and item.path not in own)


def _makers(obj: Object) -> set[str]:
    """The field managers that have the spec itself, and not only fields in it."""
    entries = [entry for entry in obj["metadata"].get("managedFields") or () if entry.get("subresource") != "status"]
    return {
        str(item.get("manager") or "unknown")
        for item in entries
        if "." in (item.get("fieldsV1") or {}).get("f:spec", ())
    }


def _written(obj: Object) -> Iterator[Written]:
    """Every field with its managers, the latest last; a status is its controllers', so it is left out.

    Rule: FieldsV1 of apimachinery, pkg/apis/meta/v1: a set of paths, each key `f:` and the name of a field, or `k:` or
    `v:` and what tells an item of a list apart; a subresource such as scale has entries of its own.
    """
    for entry in sorted(obj["metadata"].get("managedFields") or (), key=lambda item: str(item.get("time") or "")):
        if entry.get("subresource") != "status":
            for path in _paths(entry.get("fieldsV1")):
                yield Written(path, str(entry.get("manager") or "unknown"), str(entry.get("time") or ""))


def _paths(fields: object) -> Iterator[tuple[str, ...]]:
    """The paths of a set of fields to its leaves."""
    inner = {key: item for key, item in fields.items() if key != "."} if isinstance(fields, Mapping) else {}
    for key, item in inner.items():
        kind, _, name = str(key).partition(":")
        here = name if kind == "f" else f"[{_told_apart(name)}]"
        yield from ((here, *path) for path in _paths(item)) if _has_more(item) else [(here,)]


def _has_more(fields: object) -> bool:
    return isinstance(fields, Mapping) and bool(fields.keys() - {"."})


def _told_apart(text: str) -> str:
    """The values of the keys of a list's item, such as its name."""
    try:
        keys = read_json(text)
    except ValueError:
        return text
    return ", ".join(str(value) for value in keys.values()) if isinstance(keys, dict) else str(keys)
