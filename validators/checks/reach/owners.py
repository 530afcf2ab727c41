"""Family A, owners: is software that Kubeflow brings along installed by somebody else."""

from __future__ import annotations

from kubeflow_volcano.cluster.metadata import may_be_overwritten
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import counted
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, failed, passed, skipped, warned
from validators.core.rights import Rule
from validators.subjects import crds, owners, webhooks

__all__ = ["CHECKS"]

_TOLD = 5


@check(
    "A7",
    "foreign-owners",
    severity=Severity.MAJOR,
    needs=(
        *(Rule("list", "apps", kind) for kind in ("deployments", "statefulsets", "daemonsets")),
        Rule("list", "batch", "jobs"),
        *crds.READS,
        *webhooks.LISTS,
    ),
)
def foreign_owners(facts: Facts) -> Outcome:
    """Istio, cert-manager and Knative belong to nobody else: no Helm release, no operator, no other field manager.

    Two who apply the same objects undo each other's work, and an upgrade by one breaks the other. Before Kubeflow is
    installed this fails, afterwards it warns. Leave the component out (kubeflow_exclude) and let its owner keep it in
    a version that the release was tested with, or remove it with the tool that installed it.
    """
    if not any(map(owners.is_shared, facts.expectations.components)):
        return skipped("NotExpected", "the chosen components bring neither Istio nor cert-manager nor Knative.")
    objects = [*owners.shared_objects(facts)]
    if not objects:
        return skipped("NotInstalled", "there is neither Istio nor cert-manager nor Knative.")
    marks = {Ref.of(item): mark for item in objects if (mark := owners.foreign_mark(item))}
    for ref, managers in facts.managers.items():
        if foreign := sorted(name for name in managers if not may_be_overwritten(name)):
            marks.setdefault(ref, f"field manager {', '.join(foreign)}")
    if not marks:
        facts.demand("managers")
        return passed(f"{counted(len(objects), 'object')} belong to nobody else.", objects=[Ref.of(i) for i in objects])
    make, when = (warned, "") if owners.own_parts(facts) else (failed, " The install would fight over them.")
    told = "; ".join(f"{ref}: {mark}" for ref, mark in sorted(marks.items())[:_TOLD])
    more = f"; and {len(marks) - _TOLD} more" if len(marks) > _TOLD else ""
    return make(
        "ForeignOwner",
        f"{counted(len(marks), 'object')} of {len(objects)} belong to somebody else: {told}{more}.{when}",
        expected="objects of this project, or of nobody who applies them again",
        observed={str(ref): mark for ref, mark in sorted(marks.items())},
        objects=sorted(marks),
        todo="leave the component to its owner (kubeflow_exclude), or remove it with the tool that installed it.",
    )


CHECKS = (foreign_owners,)
