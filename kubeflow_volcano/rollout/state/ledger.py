"""What was rolled out, when and how long it took: ConfigMaps that the next run, the validators and people can read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kubeflow_volcano import __version__
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.holdings import HOLDINGS, lasting, text_of
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.state.namespace import NAMESPACE, create_once, ensure_namespace

__all__ = ["LEDGER", "digest", "expected_seconds", "put", "record"]

LEDGER = Ref("v1", "ConfigMap", NAMESPACE, "rollout-ledger")

_KEPT = ("seconds_of_a_change", "seconds_without_change")


def digest(objects: Sequence[Object]) -> str:
    """A name for what is declared: the same text has the same one. Secrets count by their keys, not their values."""
    known = [{**obj, "data": sorted(obj.get("data") or {})} if obj["kind"] == "Secret" else obj for obj in objects]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def expected_seconds(cluster: Cluster, components: Sequence[str], *, quiet: bool) -> float | None:
    """How long such a run took last time: one that had something to send, or a `quiet` one; None if there was none.

    Raises:
        ApiError: the ledger may not be read.
    """
    entry = _read(cluster).get(_name(components), {})
    found = entry.get(_KEPT[1] if quiet else _KEPT[0])
    return float(found) if isinstance(found, int | float) else None


def record(cluster: Cluster, *, release: str, parts: Mapping[str, Sequence[Object]], result: ApplyResult) -> None:
    """Write down a run of these components that came to its end, and which objects it brought.

    Raises:
        ApiError: the ledger may not be written.
    """
    ensure_namespace(cluster)
    components = tuple(parts)
    before = _read(cluster)
    earlier = before.get(_name(components), {})
    run = {key: value for key, value in earlier.items() if key in _KEPT}
    times = {name: round(result.seconds_of.get(name, 0.0), 1) for name in components}
    if not result.changed:
        times |= {name: entry["seconds"] for name, entry in (earlier.get("components") or {}).items() if name in times}
    run[_KEPT[0] if result.changed else _KEPT[1]] = round(result.seconds, 1)
    run |= {
        "version": __version__,
        "release": release,
        "inventory_sha256": digest([obj for objects in parts.values() for obj in objects]),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "outcome": "failed" if result.problems else "complete",
        "objects": {str(action): result.count(action) for action in Action},
        "components": {
            name: {
                "sha256": digest(objects),
                "objects": len(objects),
                "seconds": times[name],
            }
            for name, objects in parts.items()
        },
    }
    put(cluster, HOLDINGS, {name: text_of(lasting(objects)) for name, objects in parts.items()})
    put(cluster, LEDGER, {_name(components): json.dumps(run, indent=1, sort_keys=True)})


def put(cluster: Cluster, where: Ref, data: Mapping[str, str]) -> None:
    """Set these keys of a ConfigMap, which is made where it is missing; others stay.

    Raises:
        ApiError: it may not be written.
    """
    meta = {"name": where.name, "namespace": where.namespace}
    text: Object = {"apiVersion": where.api_version, "kind": where.kind, "metadata": meta, "data": data}
    if create_once(cluster, text) is None:
        cluster.patch(where, {"data": data})


def _name(components: Sequence[str]) -> str:
    """One entry for each set of components that is rolled out together, short enough for a key."""
    text = ".".join(components)
    return text if len(text) <= 100 else hashlib.sha256(text.encode()).hexdigest()[:16]  # noqa: PLR2004  keys end at 253


def _read(cluster: Cluster) -> Mapping[str, Mapping[str, Any]]:
    live = cluster.get(LEDGER) or {}
    found: dict[str, Mapping[str, Any]] = {}
    for key, text in (live.get("data") or {}).items():
        try:
            entry = json.loads(text)
        except ValueError:
            continue  # somebody edited it; it only costs the estimate
        if isinstance(entry, dict):
            found[key] = entry
    return found
