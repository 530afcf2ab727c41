"""Family A, owners: is shared software such as Istio managed by another tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER, may_be_overwritten
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.ownership import mark_of
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import CRDS
from kubeflow_volcano.validators.subjects import webhooks, workloads

_WORKLOADS = tuple(workloads.RESOURCE_OF_KIND.values())
_SHARED = ("cert-manager", "istio", "knative", "cluster-local-gateway")


def _is_shared(component: str, facts: Facts) -> bool:
    """Whether the component is software that others may use as well, and the settings do not leave it to them."""
    return component.startswith(_SHARED) and component not in facts.expectations.existing


def _own_parts(facts: Facts) -> bool:
    """Whether a workload of Kubeflow itself exists, which means that Kubeflow is installed."""
    return any(
        facts.get(workloads.RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name)
        for ref, component in facts.expectations.workloads.items()
        if not component.startswith(_SHARED) and component not in facts.expectations.existing
    )


def _shared_workloads(facts: Facts) -> Iterator[Ref]:
    """The existing workloads of shared components."""
    for ref, component in facts.expectations.workloads.items():
        if _is_shared(component, facts) and facts.get(workloads.RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name):
            yield ref


def _shared_objects(facts: Facts) -> Iterator[Object]:
    """The existing CRDs, webhook configurations and workloads of shared components."""
    expected = facts.expectations
    for name, component in expected.crds.items():
        if _is_shared(component, facts) and (live := facts.get(CRDS, "", name)):
            yield live
    for ref, component in expected.webhooks.items():
        if _is_shared(component, facts) and (live := facts.get(webhooks.RESOURCES[ref.kind], "", ref.name)):
            yield live
    for ref in _shared_workloads(facts):
        if live := facts.get(workloads.RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name):
            yield live


def _managers(cluster: Cluster, facts: Facts) -> Mapping[Ref, frozenset[str]]:
    """Read separately, because the snapshot does not keep managedFields."""
    managers: dict[Ref, frozenset[str]] = {}
    for ref in _shared_workloads(facts):
        fields = f"metadata.name={ref.name}"
        for live in cluster.list(ref.api_version, ref.kind, namespace=ref.namespace, fields=fields, brief=True).items:
            managers[ref] = writers(live)
    return managers


def writers(live: Object) -> frozenset[str]:
    """Field managers of the object's pod template; status and scale do not count."""
    return frozenset(
        entry.get("manager", "")
        for entry in live["metadata"].get("managedFields") or ()
        if "f:template" in (entry.get("fieldsV1") or {}).get("f:spec", {})
    )


MANAGERS = Fact[Mapping[Ref, frozenset[str]]]("field managers", _managers, {}, reads=_WORKLOADS)
"""Field managers of the pod templates of workloads of shared components."""


@check(
    "A7",
    "foreign-owners",
    severity=Severity.MAJOR,
    reads=(*_WORKLOADS, CRDS, *webhooks.LISTS, MANAGERS),
)
def foreign_owners(facts: Facts) -> Outcome:
    """Istio, cert-manager and Knative are not managed by another tool.

    Marks of another tool are a Helm release, an operator or another field manager; before Kubeflow is installed also
    kubectl. Two tools that apply the same objects overwrite each other, and an upgrade by one breaks the other. Before
    Kubeflow is installed this fails, because the roll-out refuses such a component; afterwards it warns. Leave the
    component to that tool (kubeflow_existing), or take it over (kubeflow_adopt, with --check --diff before); see
    docs/existing-clusters.md.
    """
    if not any(_is_shared(component, facts) for component in facts.expectations.components):
        return skipped("NotExpected", "the chosen components include neither Istio nor cert-manager nor Knative.")
    objects = [*_shared_objects(facts)]
    if not objects:
        return skipped("NotInstalled", "neither Istio nor cert-manager nor Knative is installed.")
    marks = {Ref.of(item): mark for item in objects if (mark := mark_of(item))}
    installed = _own_parts(facts)
    for ref, managers in facts.known(MANAGERS).items():
        ours = installed or FIELD_MANAGER in managers
        if foreign := sorted(name for name in managers if not (ours and may_be_overwritten(name))):
            marks.setdefault(ref, f"field manager {', '.join(foreign)}")
    if not marks:
        facts.read(MANAGERS)
        return passed(
            f"{counted(len(objects), 'object')} without marks of another tool.", objects=[Ref.of(i) for i in objects]
        )
    make, when = (warned, "") if installed else (failed, " The roll-out refuses them as they are.")
    names = few([f"{ref}: {mark}" for ref, mark in sorted(marks.items())], separator="; ")
    return make(
        "ForeignOwner",
        f"Another tool manages {len(marks)} of {counted(len(objects), 'object')}: {names}.{when}",
        expected="objects that only this project applies",
        observed={str(ref): mark for ref, mark in sorted(marks.items())},
        objects=sorted(marks),
        todo="name its component in kubeflow_existing to leave it to that tool, or in kubeflow_adopt to take it over.",
    )
