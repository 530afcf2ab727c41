"""The ledger: a ConfigMap with what was rolled out, when, and how long it took."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kubeflow_volcano import __version__
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.rollout.state.store import NAMESPACE, write_keys

LEDGER = Ref("v1", "ConfigMap", NAMESPACE, "rollout-ledger")

_COMPLETE = "complete"
_KEPT = ("seconds_of_a_change", "seconds_without_change")


def expected_seconds(cluster: Cluster, components: Sequence[str], *, quiet: bool) -> float | None:
    """Seconds of the last run of these components that sent objects, or of the last `quiet` one; None if unknown.

    Raises:
        ApiError: the ledger cannot be read.
    """
    entry = _read(cluster).get(_name(components), {})
    seconds = entry.get(_KEPT[1] if quiet else _KEPT[0])
    return float(seconds) if isinstance(seconds, int | float) else None


def has_ended_well(cluster: Cluster, components: Sequence[str]) -> bool:
    """Whether the last run of these components came to its end, without problems.

    Raises:
        ApiError: the ledger cannot be read.
    """
    return _read(cluster).get(_name(components), {}).get("outcome") == _COMPLETE


def record_run(cluster: Cluster, *, release: str, components: Sequence[str], result: ApplyResult) -> None:
    """Record a finished run of these components.

    Raises:
        ApiError: the ledger cannot be written.
    """
    earlier = _read(cluster).get(_name(components), {})
    run = {key: value for key, value in earlier.items() if key in _KEPT}
    run[_KEPT[0] if result.changed else _KEPT[1]] = round(result.seconds, 1)
    run |= {
        "version": __version__,
        "release": release,
        "components": [*components],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "outcome": "failed" if result.problems else _COMPLETE,
        "objects": {str(action): result.count(action) for action in Action},
    }
    write_keys(cluster, LEDGER, {_name(components): json.dumps(run, indent=1, sort_keys=True)})


def _name(components: Sequence[str]) -> str:
    """Key of the entry of a set of components, which a hash replaces if it is long."""
    text = ".".join(components)
    return text if len(text) <= 100 else hashlib.sha256(text.encode()).hexdigest()[:16]  # noqa: PLR2004  keys end at 253


def _read(cluster: Cluster) -> Mapping[str, Mapping[str, Any]]:
    live = cluster.get(LEDGER) or {}
    entries: dict[str, Mapping[str, Any]] = {}
    for key, text in (live.get("data") or {}).items():
        try:
            entry = read_json(text)
        except ValueError:
            continue  # edited by hand; costs only the estimate
        if isinstance(entry, dict):
            entries[key] = entry
    return entries
