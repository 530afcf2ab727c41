"""What must happen to a live CRD before the API server accepts the declared one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.stored_versions import storage_version

MARK = "Stored again"
"""Name of a printer column of the intermediate CRD: answers of the API server with it show that this CRD is in effect.

It builds the columns and the storage of a kind together from one CRD (getOrCreateServingInfoFor in
apiextensions-apiserver), and answers with the old ones for a while after a change; discovery is another controller,
and earlier. Only `kubectl get -o wide` shows the column.
"""


@dataclass(frozen=True, slots=True)
class CrdChange:
    """The steps before the declared CRD is sent, in this order.

    `stored`: versions in which objects may be stored still; `intermediate` is sent, the objects are stored again in
    `storage`, the declared version, and then these versions leave status.storedVersions. `moves`: until now no object
    was stored in `storage`, so that each of them changes. `drops_conversion`: the conversion by webhook ends.
    """

    storage: str
    stored: tuple[str, ...]
    moves: bool
    drops_conversion: bool


def change_of(declared: Object, live: Object) -> CrdChange | None:
    """The steps from `live` to `declared`; None where the API server takes the declared CRD as it is.

    CRDs that this project did not apply are left alone. The API server refuses a CRD whose spec.versions lacks one of
    status.storedVersions (validateCustomResourceDefinitionStoredVersions in apiextensions-apiserver). Without a
    conversion by webhook an object is only relabelled when it is read in another version than it is stored in, so
    where that conversion ends every object must be stored in the declared version before.
    """
    entry = own_entry(live)
    if entry is None or "deletionTimestamp" in live["metadata"]:
        return None
    storage = storage_version(declared)
    names = {version["name"] for version in declared["spec"]["versions"]}
    drops = _drops_conversion(declared, live)
    found = (live.get("status") or {}).get("storedVersions") or ()
    stored = tuple(name for name in found if name not in names or (drops and name != storage))
    if not stored and not drops:
        return None
    return CrdChange(storage, stored, moves=bool(stored) and storage not in found, drops_conversion=drops)


def intermediate(declared: Object, live: Object) -> Object:
    """The declared CRD beside the live one: with the versions that only the live one has, its conversion, and `MARK`.

    Objects are stored in the declared version, and every version in which one may be stored can still be read.
    """
    names = {version["name"] for version in declared["spec"]["versions"]}
    storage = storage_version(declared)
    versions = [{**item, "served": item["served"] or item["storage"]} for item in declared["spec"]["versions"]]
    for item in versions:
        if item["name"] == storage:
            about = f"shown while objects are stored again in {storage}"
            mark = {"name": MARK, "type": "string", "jsonPath": ".apiVersion", "priority": 1, "description": about}
            item["additionalPrinterColumns"] = [*(item.get("additionalPrinterColumns") or ()), mark]
    versions += [{**item, "storage": False} for item in live["spec"]["versions"] if item["name"] not in names]
    spec = {**declared["spec"], "versions": versions}
    if _strategy(live) == "Webhook" and _strategy(declared) != "Webhook":
        spec["conversion"] = live["spec"]["conversion"]
    return {**declared, "spec": spec}


def _drops_conversion(declared: Object, live: Object) -> bool:
    """Whether the conversion is this project's, and the declared CRD has none.

    Others may have added to it, as injectors of a caBundle do. Where another manager applied a whole conversion, it is
    that one's to end.
    """
    if _strategy(live) != "Webhook" or _strategy(declared) == "Webhook":
        return False
    ours = False
    for entry in live["metadata"].get("managedFields") or ():
        fields = ((entry.get("fieldsV1") or {}).get("f:spec") or {}).get("f:conversion") or {}
        if (entry["manager"], entry["operation"]) == (FIELD_MANAGER, "Apply"):
            ours = "f:strategy" in fields
        elif entry["manager"] != FIELD_MANAGER and "f:conversionReviewVersions" in set(_names(fields)):
            return False
    return ours


def _names(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, inside in fields.items():
        yield name
        yield from _names(inside)


def _strategy(crd: Object) -> str:
    return str((crd["spec"].get("conversion") or {}).get("strategy") or "None")
