"""Family B, certificates: does cert-manager issue what the release asks for, and in time."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Ref
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, skipped
from validators.core.rights import BACKENDS, Rule
from validators.subjects import certificates, simulation
from validators.subjects.troubles import judged, verdict

__all__ = ["CHECKS"]

_COMPONENT = "cert-manager"
_CONTROLLER = Ref("apps/v1", "Deployment", "cert-manager", "cert-manager")


@check(
    "B7",
    "certificates-ready",
    severity=Severity.BLOCKER,
    needs=(
        *certificates.READS,
        Rule("list", "", "namespaces"),
        Rule("list", "", "pods"),
        Rule("get", "", "secrets", BACKENDS),
    ),
    component=_COMPONENT,
)
def certificates_ready(facts: Facts) -> Outcome:
    """Every Certificate is issued, kept in its Secret, and valid for a while.

    Ready must be True for the Certificate as it is now, its Secret must hold certificate and key, and more than 7 days
    must be left; up to 30 days are a warning, and less where the whole life is short. A Certificate whose issuer is not
    ready waits for it: look at the Issuer first, then at the CertificateRequest and the log of cert-manager.
    """
    if _COMPONENT not in facts.expectations.components:
        return skipped("NotExpected", f"the chosen components have no {_COMPONENT}.")
    if simulation.simulated_workload(facts, _CONTROLLER):
        text = f"{_CONTROLLER} is simulated in this rehearsal: nobody issues certificates."
        return skipped("Simulated", text, objects=(_CONTROLLER,))
    looked_at = [Ref.of(item) for item in judged(facts, certificates.RESOURCE)]
    return verdict(
        certificates.troubled(facts),
        looked_at,
        claim=f"{len(looked_at)} Certificates are ready and kept, and none ends soon.",
        expected="Ready=True, a Secret with tls.crt and tls.key, more than 7 days left",
    )


CHECKS = (certificates_ready,)
