"""Family I: what the run says of itself. Judged when all other checks are, and after the probes are removed.

That a second roll-out changes nothing (I5 of the specification) is a claim about the roll-out, which says so itself:
`changed=0`, held by tests/integration/test_rollout.py. No validation can see it, so there is no check of that number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.acting import USER_AGENT
from kubeflow_volcano.experiment.remains import Cleanup
from kubeflow_volcano.validators.core.check import check, natural
from kubeflow_volcano.validators.core.facts import Evidence, Facts
from kubeflow_volcano.validators.core.outcome import (
    CannotJudgeError,
    Outcome,
    Severity,
    errored,
    failed,
    passed,
    skipped,
)
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.probes.audit import Audit

_CLUSTER = Ref("v1", "Namespace", "", "kube-system")
"""Stands for the cluster as a whole."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Evidence for the checks that judge the run itself.

    `results` are those of all other checks. `audit` is None where the look at the cluster failed, for the reason and
    text of `failure`. `again` holds the outcomes of a second pass by check id, and is None where there was none.
    """

    results: tuple[Result, ...]
    cleanup: Cleanup
    audit: Audit | None = None
    failure: tuple[str, str] = ("", "")
    again: Mapping[str, Outcome] | None = None


RUN = Evidence[RunRecord]("run")
"""Judged after everything else."""


def _audit(record: RunRecord) -> Audit:
    if record.audit is None:
        reason, text = record.failure
        todo = "see the API server's health, then run again."
        raise CannotJudgeError(errored(reason, f"the cluster could not be looked at once more: {text}", todo=todo))
    return record.audit


@check("I1", "clean-up-proven", severity=Severity.MAJOR, probe=RUN)
def clean_up_proven(facts: Facts) -> Outcome:
    """A second look at the cluster finds no object of this run, by UID and by run label.

    H8 uses the session's own records; this check lists kind by kind, and also finds objects that the session lost track
    of. Delete the named objects; namespaces of probes are called kfv-smoke-*.
    """
    record = facts.evidence(RUN)
    account = record.cleanup
    if not account.created and not account.swept:
        return skipped("NothingCreated", "no probe created anything.")
    audit = _audit(record)
    if audit.present:
        note = ", ".join(f"{item.ref} (uid {item.uid})" for item in audit.present)
        known = {item.uid for item in account.left}
        return failed(
            "StillThere",
            f"{len(audit.present)} of {len(account.created)} probe objects are found after the clean-up: {note}.",
            expected="0 objects of this run",
            observed={str(item.ref): item.uid for item in audit.present},
            objects=[item.ref for item in audit.present],
            todo="see what holds them; the next run removes what is past its expiry.",
            because=("H8",) if known.issuperset(item.uid for item in audit.present) else (),
        )
    kinds = f"{len(audit.kinds)} kinds ({', '.join(audit.kinds)})"
    text = f"none of {len(account.created)} objects is found among the {audit.seen} of {kinds} that there are now."
    return passed(text, objects=[item.ref for item in (*account.created, *account.swept)])


@check("I2", "nothing-else-touched", severity=Severity.BLOCKER, probe=RUN)
def nothing_else_touched(facts: Facts) -> Outcome:
    """This run changed nothing except its own objects.

    Every write request is recorded and must be about an object of this run, and no other object may have a field that
    managedFields ascribes to this tool. A finding is a defect: report it.
    """
    record = facts.evidence(RUN)
    audit = _audit(record)
    if audit.foreign_writes or audit.touched:
        wrote = [f"request {text}" for text in audit.foreign_writes]
        bears = [f"{ref} has fields of manager {USER_AGENT}" for ref in audit.touched]
        return failed(
            "TouchedOthers",
            f"something was changed that this run did not create: {'; '.join(wrote + bears)}.",
            expected="requests that change objects of this run only",
            observed={"requests": list(audit.foreign_writes), "objects": [str(ref) for ref in audit.touched]},
            objects=audit.touched,
            todo="report this together with the report file; it is a defect.",
        )
    own = [item.ref for item in record.cleanup.created]
    if not audit.writes:
        return passed("no request of this run changed anything.", objects=own or (_CLUSTER,))
    text = (
        f"all {audit.writes} requests that changed something were about objects of this run; none of the other "
        f"{audit.seen} objects of these kinds has a field of manager {USER_AGENT}."
    )
    return passed(text, objects=own or (_CLUSTER,), observed={"requests": audit.writes})


@check("I4", "stable-verdicts", severity=Severity.MAJOR, probe=RUN, opt_in="twice")
def stable_verdicts(facts: Facts) -> Outcome:
    """Two complete passes give the same verdicts.

    The report shows the first pass. A check with another second verdict is flaky: something changes by itself, or works
    only sometimes. Both messages are in the finding.
    """
    record = facts.evidence(RUN)
    again = record.again or {}
    pairs = [(item, again[item.check.id]) for item in record.results if item.check.id in again]
    if not pairs:
        return skipped("NothingElse", "no other check was chosen.")
    flaky = [(first, second) for first, second in pairs if first.outcome.status is not second.status]
    if not flaky:
        looked_at = sorted({ref for first, _ in pairs for ref in first.outcome.objects}) or [_CLUSTER]
        return passed(f"{len(pairs)} checks have the same verdict in both passes.", objects=looked_at)
    flaky.sort(key=lambda pair: natural(pair[0].check.id))
    return failed(
        "Flaky",
        f"{len(flaky)} of {len(pairs)} checks came to another verdict in the second pass: "
        + "; ".join(
            f"{first.check.id} {first.outcome.status} ({first.outcome.reason}), then {second.status} ({second.reason}: "
            f"{second.message})"
            for first, second in flaky
        ),
        expected="the same verdict twice",
        observed={first.check.id: f"{first.outcome.status}, {second.status}" for first, second in flaky},
        objects=[ref for first, second in flaky for ref in (*first.outcome.objects, *second.objects)],
        todo="check the objects that these checks name: what changes by itself will also fail users' jobs.",
    )
