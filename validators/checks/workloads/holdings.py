"""C1: whether everything that a release holds exists, and who already says so of what does not."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Ref
from validators.core.facts import Facts, Holdings
from validators.core.outcome import Outcome, errored, failed, passed
from validators.reading.permissions import as_yaml
from validators.subjects import workloads

__all__ = ["holdings_verdict"]

_TOLD = 8
_CRD = "CustomResourceDefinition"
_WEBHOOKS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})


def holdings_verdict(facts: Facts) -> Outcome:
    """Absence is worse than not having been allowed to look everywhere."""
    facts.demand("holdings")
    found = facts.holdings
    if found is None or not found.expected:
        todo = "choose a profile that has components (--profile)."
        return failed("NothingExpected", "the expectations name no object.", todo=todo)
    absent = sorted(ref for ref in found.absent if ref.namespace not in facts.ignored_namespaces)
    if absent:
        return _absent(found, absent, facts)
    if found.refused:
        return _refused(found)
    counted = _by_component(found, found.expected)
    return passed(
        f"all {len(found.expected)} objects of {len(counted)} components exist; the list is {found.source}.",
        objects=sorted(found.expected),
        observed={"source": found.source, "objects": counted},
    )


def _absent(found: Holdings, absent: list[Ref], facts: Facts) -> Outcome:
    counted = _by_component(found, absent)
    more = f" and {len(absent) - _TOLD} more" if len(absent) > _TOLD else ""
    owners = [_owner(ref, found, facts) for ref in absent]
    return failed(
        "Absent",
        f"{len(absent)} of {len(found.expected)} objects do not exist: {', '.join(map(str, absent[:_TOLD]))}{more}. "
        f"The list is {found.source}.",
        expected="every object of the release's manifests",
        observed={"source": found.source, "absent": counted},
        objects=absent,
        todo=f"install {', '.join(counted)} again (playbooks/install.yml); what is there stays as it is.",
        evidence={"absent.txt": "\n".join(f"{found.expected[ref]}: {ref.api_version} {ref}" for ref in absent)},
        because=tuple(dict.fromkeys(filter(None, owners))) if all(owners) else (),
    )


def _owner(ref: Ref, found: Holdings, facts: Facts) -> str:
    """The check that says by itself that this object is absent; empty where no other does."""
    expected = facts.expectations
    if ref.kind == _CRD and ref.name in expected.crds:
        return "B1"
    if ref in found.unserved:
        return "B1" if any(name.partition(".")[2] == ref.group for name in expected.crds) else ""
    if ref.kind in _WEBHOOKS and ref in expected.webhooks:
        return "B3"
    if ref in expected.workloads:
        trouble = next((item for item in workloads.troubled(facts) if item.ref == ref), None)
        return trouble.because[0] if trouble and trouble.because else trouble.check if trouble else ""
    return ""


def _refused(found: Holdings) -> Outcome:
    names = ", ".join(rule.plural_group for rule in found.refused)
    return errored(
        "Forbidden",
        f"whether all {len(found.expected)} objects exist could not be seen: you may not look for {names}.",
        expected="the right to see each kind that the release holds; metadata alone is read",
        observed={"source": found.source},
        todo=f"grant these rules:\n{as_yaml(found.refused)}",
    )


def _by_component(found: Holdings, refs: Iterable[Ref]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for component in sorted(found.expected[ref] for ref in refs):
        counted[component] = counted.get(component, 0) + 1
    return counted
