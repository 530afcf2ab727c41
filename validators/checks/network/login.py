"""Family E, sign-in: do the credentials that were given make a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.validators.checks.network.gateway import nobody
from kubeflow_volcano.validators.checks.network.sign_in import CONFIGURATION, DEX
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, failed, passed, skipped
from kubeflow_volcano.validators.probes.network.front_door import SERVICE
from kubeflow_volcano.validators.probes.network.login import FORWARD, LOGIN, Login
from kubeflow_volcano.validators.reading.permissions import as_yaml

_NOT_FOUND = 404
_ENDINGS: Mapping[str, tuple[str, str]] = {
    "ServerError": ("a backend of the gateway is down", "check the pods of Dex, and of oauth2-proxy or authservice."),
    "WrongPassword": (
        "Dex rejects this password",
        "give the password of this user; E4 and E8 say which users Dex knows.",
    ),
    "NoToken": (
        "Dex accepts the password, and oauth2-proxy or authservice gets no token for it",
        "see its log: its client's id and secret must be Dex's (Secret auth/dex-oidc-client), and the issuer the same.",
    ),
    "SentBack": (
        "Dex accepts the password, and the login page appears again",
        "see the log of oauth2-proxy or authservice: the client's secret, the redirect and the issuer must be Dex's.",
    ),
    "NoSignIn": (
        "the first page is served without a login",
        "install dex and oauth2-proxy or oidc-authservice, and see Istio's AuthorizationPolicy.",
    ),
    "NoPasswordForm": ("no form asks for a password", "see enablePasswordDB in Dex's configuration."),
    "SecureCookies": (
        "its cookies are for https alone, and this is http",
        "give the https URL with --gateway-url, or set cookie_secure to false.",
    ),
    "Refused": ("that leads to no session", "see the log of oauth2-proxy or authservice, and of Dex."),
    "NoEnd": (
        "redirect loop",
        "check the redirect URIs of Dex's client and of oauth2-proxy or authservice.",
    ),
}
"""What is no session: its meaning, and what to do."""


@check(
    "E9",
    "login",
    severity=Severity.MAJOR,
    probe=LOGIN,
    component="istio",
    opt_in="login_as",
)
def login(facts: Facts) -> Outcome:
    """The given credentials get a session at the gateway.

    The probe signs in like a browser: from the first page through Dex's form until the first page is served with a
    session cookie. If the dashboard names the signed-in user, it must be the same user. Only the gateway's own origin
    is requested. The finding names the last step; the logs of Dex (auth) and of oauth2-proxy or authservice say why.
    Pass the password in KFV_LOGIN_PASSWORD or in a file, never as an argument.
    """
    evidence = facts.evidence(LOGIN)
    if evidence.failure:
        return _not_tried(evidence, evidence.failure)
    if not evidence.way:
        return nobody(facts)
    note = " -> ".join(map(str, evidence.steps))
    observed = {
        "way": evidence.way,
        "steps": [str(item) for item in evidence.steps],
        "cookies": list(evidence.cookies),
        "user": evidence.user,
    }
    if text := _no_verdict(evidence):
        return skipped(evidence.ending, text, objects=(SERVICE,))
    reason, meaning, todo = _fault(evidence)
    if reason:
        return failed(
            reason,
            f"{evidence.email} at {evidence.way}: {meaning} ({note}).",
            expected="a session of this user, and the first page",
            observed=observed,
            objects=(SERVICE, CONFIGURATION),
            todo=todo,
        )
    who = f", and the dashboard knows {evidence.user}" if evidence.user else ""
    text = f"{evidence.email} signs in and has a session ({', '.join(evidence.cookies)}){who}."
    return passed(text, objects=(SERVICE, CONFIGURATION), observed=observed)


def _no_verdict(evidence: Login) -> str:
    """Why it is not for this check to say; empty where it is."""
    if evidence.ending == "OtherOrigin":
        return (
            f"the sign-in goes on at {evidence.elsewhere}, to which nothing is sent: only the gateway asked is trusted."
        )
    if evidence.ending == "OtherConnectors":
        return "Dex asks with which of its connectors to sign in, and its own passwords are not among them."
    if evidence.ending == "SecureCookies" and evidence.forwarded:
        return "the cookies of this sign-in are for https alone; name the gateway's URL with --gateway-url."
    return ""


def _fault(evidence: Login) -> tuple[str, str, str]:
    """Reason, meaning and what to do; all empty where nothing is wrong."""
    last = evidence.steps[-1] if evidence.steps else None
    if evidence.ending == "Refused" and last and last.status == _NOT_FOUND and last.path.startswith("/dex/"):
        return "NoDex", "no Dex is behind the gateway", f"see the pods of {DEX}, and its VirtualService."
    if evidence.ending != "Session":
        meaning, todo = _ENDINGS[evidence.ending]
        known = recognise(evidence.said, "sign-in")
        return (evidence.ending, known.cause, known.todo) if known else (evidence.ending, meaning, todo)
    if not evidence.cookies:
        todo = "see who checks who signs in: it must set a cookie, or every page asks for the password."
        return "NoSessionCookie", "the page is shown, but no cookie came with it", todo
    if evidence.user and evidence.user.casefold() != evidence.email.casefold():
        todo = "see the header of users (kubeflow-userid) at the gateway, and who sets it."
        return "OtherUser", f"the dashboard takes this session for {evidence.user}", todo
    return "", "", ""


def _not_tried(evidence: Login, failure: tuple[str, str]) -> Outcome:
    """The gateway did not answer, or the API server does not lead to it."""
    reason, text = failure
    way = f"{evidence.way} through the API server" if evidence.forwarded else evidence.way or "the gateway"
    todo = "correct --gateway-url, or see who answers there; SSL_CERT_FILE names an authority."
    if evidence.forwarded:
        rules = as_yaml(replace(rule, namespace="") for rule in FORWARD)
        todo = f"see the gateway's pods, grant these rules in {SERVICE.namespace}, or name a --gateway-url:\n{rules}"
    return errored(
        reason,
        f"{way} could not be asked: {text}",
        expected="an answer within 30 s",
        objects=(SERVICE,),
        todo=todo,
        because=("C2",) if evidence.forwarded else (),
    )
