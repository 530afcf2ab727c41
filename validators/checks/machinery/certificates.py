"""Family B, certificates: are cert-manager's Certificates issued, stored and valid."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, skipped
from kubeflow_volcano.validators.core.resources import CERTIFICATES, CLUSTER_ISSUERS, ISSUERS, NAMESPACES, PODS
from kubeflow_volcano.validators.subjects import simulation
from kubeflow_volcano.validators.subjects.issues import Issue, age, judged, verdict

_COMPONENT = "cert-manager"
_CONTROLLER = Ref("apps/v1", "Deployment", "cert-manager", "cert-manager")
_ISSUERS = {item.kind: item for item in (ISSUERS, CLUSTER_ISSUERS)}
_FAIL, _WARN = timedelta(days=7), timedelta(days=30)
"""Remaining validity that fails or warns below it (checks.md, B7)."""
_FAIL_SHARE, _WARN_SHARE = 12, 3
"""Shares of a short lifetime: cert-manager renews when a third of it is left (Certificate, spec.renewBefore)."""
_LOG = "see why cert-manager does not renew it: its CertificateRequest and its log."


class _Finding(NamedTuple):
    reason: str
    text: str
    todo: str
    status: Status = Status.FAIL


def _issues(facts: Facts) -> tuple[Issue, ...]:
    """Every judged Certificate with an issue, by name; the cause comes first."""
    issues = []
    for item in judged(facts, CERTIFICATES):
        if finding := _not_ready(item, facts) or _out_of_time(item, facts):
            ref = Ref.of(item)
            issues.append(Issue("B7", finding.status, ref, finding.reason, f"{ref} {finding.text}.", finding.todo))
    return tuple(sorted(issues, key=lambda issue: issue.ref))


def _not_ready(certificate: Object, facts: Facts) -> _Finding | None:
    state = assess(certificate)
    if state.state is State.READY:
        return None
    status = Status.WARN if age(certificate, facts) < facts.timing.grace_seconds else Status.FAIL
    if text := _issuer_issue(certificate, facts):
        return _Finding("IssuerNotReady", f"is not issued: {text}", "see why its issuer is not ready.", status)
    text = state.message.removeprefix(f"{Ref.of(certificate)} ").rstrip(".")
    return _Finding(state.reason, text, "see its CertificateRequest and the log of cert-manager.", status)


def _issuer(certificate: Object, facts: Facts) -> tuple[str, Object | None]:
    """Name of the issuer, and the issuer; issuers of other API groups are not checked."""
    asked = certificate["spec"]["issuerRef"]
    kind = asked.get("kind", "Issuer")
    namespace = "" if kind == "ClusterIssuer" else certificate["metadata"]["namespace"]
    resource = _ISSUERS.get(kind) if asked.get("group", "cert-manager.io") == "cert-manager.io" else None
    words = f"{kind} {namespace}/{asked['name']}" if namespace else f"{kind} {asked['name']}"
    return (words if resource else "", facts.get(resource, namespace, asked["name"]) if resource else None)


def _issuer_issue(certificate: Object, facts: Facts) -> str:
    words, issuer = _issuer(certificate, facts)
    if not words:
        return ""
    if issuer is None:
        return f"{words} does not exist"
    ready = conditions(issuer).get("Ready", {})
    return "" if ready.get("status") == "True" else f"{words} is not Ready: {ready.get('message', 'no condition yet')}"


def _out_of_time(certificate: Object, facts: Facts) -> _Finding | None:
    """By what cert-manager says of the certificate that it keeps; it compares its Secret with the Certificate."""
    begin, end = (_moment(certificate, field) for field in ("notBefore", "notAfter"))
    if end is None:
        return _Finding("EndUnknown", "is Ready, and its status does not say until when", _LOG, Status.WARN)
    now = datetime.fromtimestamp(facts.taken, UTC)
    left = end - now
    life = end - begin if begin else timedelta.max
    if begin and begin > now:
        text = f"is not valid before {begin:%Y-%m-%d %H:%M} UTC"
        return _Finding("NotValidYet", text, "compare the clocks of the cluster (A3).")
    if left <= timedelta():
        return _Finding("Expired", f"expired on {end:%Y-%m-%d %H:%M} UTC", _LOG)
    if left <= min(_FAIL, life / _FAIL_SHARE):
        return _Finding("EndsSoon", f"expires on {end:%Y-%m-%d %H:%M} UTC", _LOG)
    if left < min(_WARN, life / _WARN_SHARE):
        return _Finding("EndsSoon", f"expires on {end:%Y-%m-%d}", _LOG, Status.WARN)
    return None


def _moment(certificate: Object, field: str) -> datetime | None:
    text = certificate["status"].get(field)
    return datetime.fromisoformat(text) if text else None


@check(
    "B7",
    "certificates-ready",
    severity=Severity.BLOCKER,
    reads=(CERTIFICATES, ISSUERS, CLUSTER_ISSUERS, NAMESPACES, PODS),
    component=_COMPONENT,
)
def certificates_ready(facts: Facts) -> Outcome:
    """Every Certificate is issued, stored in its Secret, and not about to expire.

    Ready must be True for its current generation: cert-manager compares the Secret with it. By its status it must be
    valid for more than 7 days; below 30 days is a warning, and the limits are shorter for short lifetimes. If the
    issuer is not ready, see the Issuer first, then the CertificateRequest and the log of cert-manager. No Secret is
    read.
    """
    if _COMPONENT not in facts.expectations.components:
        return skipped("NotExpected", f"the chosen components do not include {_COMPONENT}.")
    if simulation.simulated_workload(facts, _CONTROLLER):
        text = f"{_CONTROLLER} is simulated in this rehearsal: no certificates are issued."
        return skipped("Simulated", text, objects=(_CONTROLLER,))
    looked_at = [Ref.of(item) for item in judged(facts, CERTIFICATES)]
    return verdict(
        _issues(facts),
        looked_at,
        claim=f"{counted(len(looked_at), 'Certificate')} ready and stored, none about to expire.",
        expected="Ready=True, valid for more than 7 days",
    )
