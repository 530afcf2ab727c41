"""Which of cert-manager's Certificates are not ready, wrongly kept or near their end, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess
from validators.core.facts import Facts, TlsSecret
from validators.core.outcome import Status
from validators.core.rights import Rule
from validators.subjects.troubles import GRACE_SECONDS, Trouble, age, judged
from validators.subjects.webhooks import parsed

__all__ = ["READS", "RESOURCE", "secret_of", "troubled"]

RESOURCE = "certificates.cert-manager.io"
_ISSUERS = {"Issuer": "issuers.cert-manager.io", "ClusterIssuer": "clusterissuers.cert-manager.io"}
READS = tuple(Rule("list", "cert-manager.io", name) for name in ("certificates", "issuers", "clusterissuers"))
"""What `troubled` reads."""

_FAIL, _WARN = timedelta(days=7), timedelta(days=30)
"""What must be left (checks.md, B7)."""
_FAIL_SHARE, _WARN_SHARE = 12, 3
"""Of a short life less is asked: cert-manager renews when a third of it is left (Certificate, spec.renewBefore)."""
_WITH_AUTHORITY = frozenset({"ca", "selfSigned"})
"""Issuers that always hand out their authority, in ca.crt; others may not know it."""


class _Finding(NamedTuple):
    reason: str
    text: str
    todo: str
    status: Status = Status.FAIL


def secret_of(certificate: Object) -> Ref:
    """The Secret into which the Certificate is written."""
    return Ref("v1", "Secret", certificate["metadata"]["namespace"], certificate["spec"]["secretName"])


def troubled(facts: Facts) -> tuple[Trouble, ...]:
    """Every judged Certificate that is not as it should be, in order of its name; the cause goes before the rest."""
    found = []
    for item in judged(facts, RESOURCE):
        if finding := _not_ready(item, facts) or _not_kept(item, facts) or _out_of_time(item, facts):
            ref = Ref.of(item)
            found.append(Trouble("B7", finding.status, ref, finding.reason, f"{ref} {finding.text}.", finding.todo))
    return tuple(sorted(found, key=lambda trouble: trouble.ref))


def _not_ready(certificate: Object, facts: Facts) -> _Finding | None:
    state = assess(certificate)
    if state.state is State.READY:
        return None
    status = Status.WARN if age(certificate, facts) < GRACE_SECONDS else Status.FAIL
    if text := _issuer_trouble(certificate, facts):
        return _Finding("IssuerNotReady", f"is not issued: {text}", "make its issuer ready first.", status)
    text = state.message.removeprefix(f"{Ref.of(certificate)} ").rstrip(".")
    return _Finding(state.reason, text, "see its CertificateRequest and the log of cert-manager.", status)


def _issuer(certificate: Object, facts: Facts) -> tuple[str, Object | None]:
    """Words for the issuer, and the issuer; issuers of other groups are not looked at."""
    asked = certificate["spec"]["issuerRef"]
    kind = asked.get("kind", "Issuer")
    namespace = "" if kind == "ClusterIssuer" else certificate["metadata"]["namespace"]
    resource = _ISSUERS.get(kind) if asked.get("group", "cert-manager.io") == "cert-manager.io" else None
    words = f"{kind} {namespace}/{asked['name']}" if namespace else f"{kind} {asked['name']}"
    return (words if resource else "", facts.get(resource, namespace, asked["name"]) if resource else None)


def _issuer_trouble(certificate: Object, facts: Facts) -> str:
    words, issuer = _issuer(certificate, facts)
    if not words:
        return ""
    if issuer is None:
        return f"{words} does not exist"
    ready = conditions(issuer).get("Ready", {})
    return "" if ready.get("status") == "True" else f"{words} is not Ready: {ready.get('message', 'no condition yet')}"


def _not_kept(certificate: Object, facts: Facts) -> _Finding | None:
    facts.demand("tls-secrets")
    ref = secret_of(certificate)
    secret = facts.tls_secrets.get(ref)
    if secret is None:
        return _Finding("NoSecret", f"is Ready, but {ref} does not exist", "see the log of cert-manager.")
    spec = (_issuer(certificate, facts)[1] or {}).get("spec", {})
    wanted = {"tls.crt", "tls.key"} | ({"ca.crt"} if _WITH_AUTHORITY & spec.keys() else set())
    if missing := sorted(wanted - secret.keys):
        todo = "delete the Secret; cert-manager makes it again."
        return _Finding("KeysMissing", f"is Ready, but {ref} has no {', '.join(missing)}", todo)
    return None


def _out_of_time(certificate: Object, facts: Facts) -> _Finding | None:
    ref = secret_of(certificate)
    secret: TlsSecret = facts.tls_secrets[ref]
    again = "delete the Secret; cert-manager makes it again."
    try:
        found = parsed(secret.certificate)[0]
    except ValueError:
        return _Finding("BadCertificate", f"is Ready, but tls.crt of {ref} is no certificate", again)
    now = datetime.fromtimestamp(facts.taken, UTC)
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    left, life = end - now, end - begin
    if begin > now:
        text = f"is not valid before {begin:%Y-%m-%d %H:%M} UTC"
        return _Finding("NotValidYet", text, "compare the clocks of the cluster (A3).")
    if left <= timedelta():
        return _Finding("Expired", f"ended {end:%Y-%m-%d %H:%M} UTC", f"see why it is not renewed, then {again}")
    renew = "see why cert-manager does not renew it: its CertificateRequest and its log."
    if left <= min(_FAIL, life / _FAIL_SHARE):
        return _Finding("EndsSoon", f"ends {end:%Y-%m-%d %H:%M} UTC", renew)
    if left < min(_WARN, life / _WARN_SHARE):
        return _Finding("EndsSoon", f"ends {end:%Y-%m-%d}", renew, Status.WARN)
    return None
