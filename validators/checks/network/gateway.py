"""Family E, gateway: does it lead to the sign-in, or to the first page."""

from __future__ import annotations

from collections.abc import Callable

from kubeflow_volcano.validators.checks.refusals import not_tried
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped
from kubeflow_volcano.validators.probes.network.front_door import DEPLOYMENT, GATEWAY, SERVICE, FrontDoor, Hop
from kubeflow_volcano.validators.subjects import simulation

_SIGN_IN = ("/dex/", "/oauth2/", "/authservice/")
_OK, _NOT_FOUND = 200, 404
_FORBIDDEN = 403
_DENIED = (401, _FORBIDDEN)
_MOVED, _BROKEN = range(300, 400), range(500, 600)

_FIRST: tuple[tuple[str, Callable[[Hop], bool], str, str], ...] = (
    (
        "ServerError",
        lambda hop: hop.status in _BROKEN,
        "a backend of the gateway is down",
        "check the pods of centraldashboard, and of oauth2-proxy or authservice.",
    ),
    (
        "NoRoute",
        lambda hop: hop.status == _NOT_FOUND,
        "no route is bound to the gateway",
        "install kubeflow-istio-resources and centraldashboard.",
    ),
    (
        "Denied",
        lambda hop: hop.status in _DENIED,
        "unauthenticated requests are denied instead of redirected to a login page",
        "see oauth2-proxy or authservice, and Istio's policies.",
    ),
    (
        "OtherRedirect",
        lambda hop: hop.status in _MOVED and not _is_sign_in(hop.location),
        "the redirect does not lead to a known login page",
        "check which component redirects the first page.",
    ),
    (
        "Unexpected",
        lambda hop: hop.status != _OK and hop.status not in _MOVED,
        "that is neither a page nor a redirect",
        "see the gateway's log.",
    ),
)
"""What the first answer must not be: reason, test, meaning, what to do. The first that fits counts."""


@check(
    "E3",
    "gateway",
    severity=Severity.MAJOR,
    probe=GATEWAY,
    component="istio",
)
def gateway(facts: Facts) -> Outcome:
    """The gateway redirects unauthenticated requests to the login page, or serves the dashboard.

    A pod requests `/`. 404 means that no VirtualService is bound to kubeflow-gateway; a 5xx means that a backend is
    down (the dashboard, oauth2-proxy or authservice, Dex); no answer means that the gateway itself is down. The probe
    follows the redirect, so a login page that does not answer is found as well.
    """
    evidence = facts.evidence(GATEWAY)
    if evidence.failure:
        return not_tried(evidence.failure)
    if not evidence.address:
        return nobody(facts)
    note = " -> ".join(map(_describe, evidence.hops)) or evidence.error
    reason, meaning, todo = _fault(evidence)
    observed = {"host": evidence.host, "answers": [_describe(item) for item in evidence.hops], "error": evidence.error}
    if reason:
        return failed(
            reason,
            f"{evidence.address}: {note}: {meaning}.",
            expected="302 to the sign-in, its page, or 200",
            observed=observed,
            objects=(SERVICE,),
            todo=todo,
        )
    return passed(f"{evidence.address} answers {note}.", objects=(SERVICE,), observed=observed)


def nobody(facts: Facts) -> Outcome:
    """What it means that there is no gateway to ask, or only a simulated one."""
    if simulation.simulated_workload(facts, DEPLOYMENT):
        text = f"{DEPLOYMENT} is simulated in this rehearsal, so nothing answers."
        return skipped("Simulated", text, objects=(SERVICE,))
    if DEPLOYMENT not in facts.expectations.workloads:
        return skipped("NotInstalled", f"{SERVICE} is none of the chosen components'.")
    todo = "install component istio."
    return failed("Missing", f"there is no {SERVICE}.", objects=(SERVICE,), todo=todo, because=("C2",))


def _fault(evidence: FrontDoor) -> tuple[str, str, str]:
    """Reason, meaning and what to do; all empty where nothing is wrong."""
    if not evidence.hops:
        return "NoAnswer", "the gateway does not answer", f"see the pods of {DEPLOYMENT}."
    hops = evidence.hops
    if hops[0].status == _FORBIDDEN and any(_is_sign_in(item.location) for item in hops[1:2]):
        hops = hops[1:]  # oauth2-proxy's own page, whose button leads there
    first, last = hops[0], hops[-1]
    for reason, fits, meaning, todo in _FIRST:
        if fits(first):
            return reason, meaning, todo
    if len(hops) > 1 and (last.status == _NOT_FOUND or last.status in _BROKEN):
        return "SignInBroken", "the sign-in itself does not answer", "see the pods of Dex, and its VirtualService."
    return "", "", ""


def _describe(hop: Hop) -> str:
    return f"{hop.status} {hop.location}".strip()


def _is_sign_in(location: str) -> bool:
    """Whether a redirect goes to Dex, to what stands before it, or elsewhere over TLS, such as to another provider."""
    return location.startswith("https://") or any(step in location for step in _SIGN_IN)


CHECKS = (gateway,)
