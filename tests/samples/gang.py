"""One verdict on a whole gang experiment, out of those of its checks."""

from __future__ import annotations

from kubeflow_volcano.validators.checks.gang import gang
from kubeflow_volcano.validators.core.check import checks_in
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence
from kubeflow_volcano.validators.probes.gang.gang import GANG
from tests.samples.facts import facts

_BAD = (Status.FAIL, Status.ERROR)


def blamed(evidence: GangEvidence) -> tuple[str, Outcome]:
    """The check that is the first to object, with its outcome: a violation before everything else, then cause by cause.

    Where none objects, it is H2, which is the proof.
    """
    known = facts(evidences={GANG: evidence})
    found = {item.id: item(known) for item in checks_in([gang]) if item.id in {"H1", "H2", "H3", "H4"}}
    violation = [(id_, found[id_]) for id_ in ("H2", "H1") if found[id_].reason == "PartialPlacement"]
    objecting = [(id_, found[id_]) for id_ in ("H1", "H4", "H3", "H2") if found[id_].status in _BAD]
    return (*violation, *objecting, ("H2", found["H2"]))[0]
