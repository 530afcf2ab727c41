"""Family C, stale objects: is something left of an earlier release that no roll-out declares any more."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.connection import BRIEF
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, GUARDED_KINDS, parse
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import NAMESPACES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.permissions import as_yaml

_MOST_SHOWN = 8
_PARALLEL = 6
_REFUSED = {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}
_RECORD = Rule("get", "", "configmaps", APPLIED_OBJECTS.namespace)


@dataclass(frozen=True, slots=True)
class StaleObjects:
    """Objects of earlier roll-outs that the last ones do not declare and that are still there, with their version.

    `declared` are the objects that the record says are declared, `refused` the rights that were missing.
    """

    left: Mapping[Ref, str]
    declared: frozenset[Ref]
    refused: tuple[Rule, ...] = ()


def _stale(cluster: Cluster, facts: Facts) -> StaleObjects | None:
    if facts.get(NAMESPACES, "", APPLIED_OBJECTS.namespace) is None:
        return None
    try:
        record = cluster.get(APPLIED_OBJECTS)
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
        return StaleObjects({}, frozenset(), (_RECORD,))
    if record is None:
        return None
    declared: set[Ref] = set()
    recorded: dict[Ref, tuple[str, str]] = {}
    for text in (record.get("data") or {}).values():
        with contextlib.suppress(ValueError):  # a key that was edited; the roll-out writes it again
            brought = parse(text)
            declared |= brought.objects.keys()
            for version, refs in brought.left.items():
                recorded |= {ref: (version, uid) for ref, uid in refs.items() if ref.kind not in GUARDED_KINDS}
    answers = in_parallel(lambda ref: _uid(cluster, ref), recorded, _PARALLEL)
    refused = {answer for answer in answers if isinstance(answer, Rule)}
    left = {
        ref: version
        for (ref, (version, uid)), answer in zip(recorded.items(), answers, strict=True)
        if isinstance(answer, str) and answer and uid in {"", answer} and ref not in declared
    }
    return StaleObjects(left, frozenset(declared), tuple(sorted(refused, key=str)))


def _uid(cluster: Cluster, ref: Ref) -> str | Rule:
    """The UID of the live object, empty if there is none; the right that is missing to tell."""
    try:
        served = cluster.resource(ref.api_version, ref.kind)
        live = cluster.request("GET", served.path(ref.namespace, ref.name), accept=BRIEF)
    except NotServed:
        return ""
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return ""
        if error.status in _REFUSED:
            return Rule("get", ref.group, served.plural, ref.namespace)
        raise
    return str(live["metadata"]["uid"])


STALE = Fact[StaleObjects | None]("stale objects", _stale, None, reads=(NAMESPACES,), needs=(_RECORD,))
"""What earlier roll-outs left; None without a record of roll-outs."""


@check("C11", "nothing-stale", severity=Severity.MINOR, reads=(STALE,))
def nothing_stale(facts: Facts) -> Outcome:
    """No object of an earlier roll-out is left that nothing declares any more.

    The record of roll-outs on the cluster keeps, by version and UID, what only an earlier one declared. An object that
    others made again under the same name has another UID and is not judged, nor are namespaces, volumes, claims,
    profiles and queues, which are removed only when they are named.
    """
    stale = facts.read(STALE)
    if stale is None:
        return skipped("NoRecord", f"no roll-out of this project has recorded its objects in {APPLIED_OBJECTS}.")
    if stale.left:
        return _left(stale)
    if stale.refused:
        names = ", ".join(dict.fromkeys(rule.plural_group for rule in stale.refused))
        return errored(
            "Forbidden",
            f"what earlier roll-outs left could not be seen: you may not get {names}.",
            expected="the right to see the metadata of each object that the record names",
            todo=f"grant these rules:\n{as_yaml(stale.refused)}",
        )
    if not stale.declared:
        return skipped("NoRecord", f"{APPLIED_OBJECTS} records no object.")
    return passed("nothing of earlier roll-outs is left.", objects=sorted(stale.declared))


def _left(stale: StaleObjects) -> Outcome:
    left = sorted(stale.left)
    versions = Counter(version or "an unknown version" for version in stale.left.values())
    origins = ", ".join(f"{number} of {version}" for version, number in sorted(versions.items()))
    return warned(
        "Stale",
        f"{counted(len(left), 'object')} of earlier roll-outs left ({origins}): "
        f"{few(list(map(str, left)), _MOST_SHOWN)}.",
        expected="only what the last roll-out declares",
        observed={"versions": dict(versions)},
        objects=left,
        todo="""look at it: playbooks/install.yml --check --diff -e '{"kubeflow_prune": true}'; without --check """
        "the same removes it.",
        evidence={"stale.txt": "\n".join(f"{stale.left[ref] or '?'}: {ref.api_version} {ref}" for ref in left)},
    )
