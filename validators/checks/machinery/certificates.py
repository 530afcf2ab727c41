"""Family B, certificates: are cert-manager's Certificates issued, stored and valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, skipped
from kubeflow_volcano.validators.core.resources import CERTIFICATES, CLUSTER_ISSUERS, ISSUERS, NAMESPACES, PODS
from kubeflow_volcano.validators.core.rights import BACKENDS, Rule
from kubeflow_volcano.validators.subjects import simulation, trust, webhooks
from kubeflow_volcano.validators.subjects.issues import Issue, age, judged, verdict

__all__ = ["CHECKS", "TLS_SECRETS", "TlsSecret"]

_COMPONENT = "cert-manager"
_CONTROLLER = Ref("apps/v1", "Deployment", "cert-manager", "cert-manager")
_ISSUERS = {item.kind: item for item in (ISSUERS, CLUSTER_ISSUERS)}
_FAIL, _WARN = timedelta(days=7), timedelta(days=30)
"""Remaining validity that fails or warns below it (checks.md, B7)."""
_FAIL_SHARE, _WARN_SHARE = 12, 3
"""Shares of a short lifetime: cert-manager renews when a third of it is left (Certificate, spec.renewBefore)."""
_WITH_AUTHORITY = frozenset({"ca", "selfSigned"})
"""Issuers that always write their CA to ca.crt; others may not know it."""


@dataclass(frozen=True, slots=True)
class TlsSecret:
    """The Secret of a Certificate: names of its keys, and the public certificate (PEM). No private key is kept."""

    keys: frozenset[str]
    certificate: bytes


def _secret_of(certificate: Object) -> Ref:
    """The Secret in which cert-manager stores the Certificate."""
    return Ref("v1", "Secret", certificate["metadata"]["namespace"], certificate["spec"]["secretName"])


def _tls_secrets(cluster: Cluster, facts: Facts) -> Mapping[Ref, TlsSecret]:
    refs = sorted({_secret_of(item) for item in judged(facts, CERTIFICATES)})
    found: dict[Ref, TlsSecret] = {}
    for ref in refs if "cert-manager" in facts.expectations.components else ():
        if secret := cluster.get(ref):
            data = secret.get("data") or {}
            found[ref] = TlsSecret(frozenset(data), webhooks.decoded(data.get("tls.crt", "")))
    return found


TLS_SECRETS = Fact[Mapping[Ref, TlsSecret]](
    "Secrets of Certificates", _tls_secrets, {}, reads=(CERTIFICATES,), needs=(Rule("get", "", "secrets", BACKENDS),)
)
"""Existing Secrets of cert-manager's Certificates."""


class _Finding(NamedTuple):
    reason: str
    text: str
    todo: str
    status: Status = Status.FAIL


def _issues(facts: Facts) -> tuple[Issue, ...]:
    """Every judged Certificate with an issue, by name; the cause comes first."""
    found = []
    for item in judged(facts, CERTIFICATES):
        if finding := _not_ready(item, facts) or _not_kept(item, facts) or _out_of_time(item, facts):
            ref = Ref.of(item)
            found.append(Issue("B7", finding.status, ref, finding.reason, f"{ref} {finding.text}.", finding.todo))
    return tuple(sorted(found, key=lambda issue: issue.ref))


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


def _not_kept(certificate: Object, facts: Facts) -> _Finding | None:
    ref = _secret_of(certificate)
    secret = facts.read(TLS_SECRETS).get(ref)
    if secret is None:
        return _Finding("NoSecret", f"is Ready, but {ref} does not exist", "read the log of cert-manager.")
    spec = (_issuer(certificate, facts)[1] or {}).get("spec", {})
    wanted = {"tls.crt", "tls.key"} | ({"ca.crt"} if _WITH_AUTHORITY & spec.keys() else set())
    if missing := sorted(wanted - secret.keys):
        todo = "delete the Secret; cert-manager creates it again."
        return _Finding("KeysMissing", f"is Ready, but {ref} has no {', '.join(missing)}", todo)
    return None


def _out_of_time(certificate: Object, facts: Facts) -> _Finding | None:
    ref = _secret_of(certificate)
    secret: TlsSecret = facts.read(TLS_SECRETS)[ref]
    again = "Delete the Secret; cert-manager creates it again."
    try:
        found = trust.parsed(secret.certificate)[0]
    except ValueError:
        return _Finding("BadCertificate", f"is Ready, but tls.crt of {ref} is not a certificate", again)
    now = datetime.fromtimestamp(facts.taken, UTC)
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    left, life = end - now, end - begin
    if begin > now:
        text = f"is not valid before {begin:%Y-%m-%d %H:%M} UTC"
        return _Finding("NotValidYet", text, "compare the clocks of the cluster (A3).")
    if left <= timedelta():
        return _Finding("Expired", f"expired on {end:%Y-%m-%d %H:%M} UTC", f"see why it is not renewed. {again}")
    renew = "see why cert-manager does not renew it: its CertificateRequest and its log."
    if left <= min(_FAIL, life / _FAIL_SHARE):
        return _Finding("EndsSoon", f"expires on {end:%Y-%m-%d %H:%M} UTC", renew)
    if left < min(_WARN, life / _WARN_SHARE):
        return _Finding("EndsSoon", f"expires on {end:%Y-%m-%d}", renew, Status.WARN)
    return None


@check(
    "B7",
    "certificates-ready",
    severity=Severity.BLOCKER,
    reads=(CERTIFICATES, ISSUERS, CLUSTER_ISSUERS, NAMESPACES, PODS, TLS_SECRETS),
    component=_COMPONENT,
)
def certificates_ready(facts: Facts) -> Outcome:
    """Every Certificate is issued, stored in its Secret, and not about to expire.

    Ready must be True for its current generation, its Secret must contain certificate and key, and it must be valid for
    more than 7 days; below 30 days is a warning, and the limits are shorter for short lifetimes. If the issuer is not
    ready, see the Issuer first, then the CertificateRequest and the log of cert-manager.
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
        expected="Ready=True, a Secret with tls.crt and tls.key, valid for more than 7 days",
    )


CHECKS = (certificates_ready,)
