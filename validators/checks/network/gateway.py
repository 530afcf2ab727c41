"""Family E, gateway: does it lead to the sign-in, or to the first page.

Pages are known by what upstream's have: the dashboard's element main-page (kubeflow/kubeflow,
components/centraldashboard/public/index.html), Dex's classes and its field for a password (dexidp/dex, web/templates),
the path to which the button of oauth2-proxy leads (oauth2-proxy/oauth2-proxy, pkg/app/pagewriter/sign_in.html).
A page that has none of them may be a sign-in of one's own making, so it is a warning; Istio's refusal is a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.validators.checks.network.mesh import SIGN_IN
from kubeflow_volcano.validators.checks.refusals import not_tried
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped, warned
from kubeflow_volcano.validators.probes.network.front_door import DEPLOYMENT, GATEWAY, SERVICE, FrontDoor, Hop
from kubeflow_volcano.validators.subjects import simulation

_SIGN_IN = ("/dex/", "/oauth2/", "/authservice/")
_OK, _NOT_FOUND = 200, 404
_FORBIDDEN = 403
_DENIED = (401, _FORBIDDEN)
_MOVED, _BROKEN = range(300, 400), range(500, 600)
_REFUSAL = "RBAC: access denied"
"""What a proxy of Istio says for an AuthorizationPolicy (envoyproxy/envoy, source/extensions/filters/http/rbac)."""
_ELEMENT, _TITLE = "<main-page", "kubeflow central dashboard"
_OF_SIGN_IN, _FIELD = re.compile("/dex/|/oauth2/|/authservice/|dex-"), "password"
_SEE_DEX = "see the pods of Dex, and its VirtualService."
_SEE_GUARD = "see Istio's AuthorizationPolicy, and oauth2-proxy or authservice; E10 names policies that select no pod."
_SEE_ROUTES = "see which VirtualService of kubeflow-gateway has this path; a page of your own making is fine."

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
    follows the redirect and reads the page at its end: the dashboard without a login fails where a sign-in is
    installed, and a page of another program is a warning.
    """
    evidence = facts.evidence(GATEWAY)
    if evidence.failure:
        return not_tried(evidence.failure)
    if not evidence.address:
        return nobody(facts)
    note = " -> ".join(map(_describe, evidence.hops)) or evidence.error
    reason, meaning, todo = _fault(evidence) or _other_page(evidence, facts.expectations.components) or ("", "", "")
    observed = {"host": evidence.host, "answers": [_describe(item) for item in evidence.hops], "error": evidence.error}
    if reason:
        known = recognise(evidence.said, "sign-in") if evidence.said else None
        return (warned if reason == "OtherPage" else failed)(
            reason,
            f"{evidence.address}: {note}: {known.cause if known else meaning}.",
            expected="302 to the sign-in, its page, or the dashboard",
            observed=observed | ({"page": sorted(evidence.marks)} if evidence.marks else {}),
            objects=(SERVICE,),
            todo=known.todo if known else todo,
            commands=known.looks[0] if known else (),
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


def _fault(evidence: FrontDoor) -> tuple[str, str, str] | None:
    """Reason, meaning and what to do; None where the answers lead to a page."""
    if not evidence.hops:
        return "NoAnswer", "the gateway does not answer", f"see the pods of {DEPLOYMENT}."
    hops = evidence.hops
    refused = _REFUSAL in evidence.said
    if hops[0].status == _FORBIDDEN and not refused and any(_is_sign_in(item.location) for item in hops[1:2]):
        hops = hops[1:]  # oauth2-proxy's own page, whose button leads there
    first, last = hops[0], hops[-1]
    for reason, fits, meaning, todo in _FIRST:
        if fits(first):
            return reason, meaning, todo
    if len(hops) > 1 and (last.status == _NOT_FOUND or last.status in _BROKEN):
        return "SignInBroken", "the sign-in itself does not answer", _SEE_DEX
    return None


def _other_page(evidence: FrontDoor, components: Collection[str]) -> tuple[str, str, str] | None:
    """The same about a page that is not the one to be expected: another program's, or the unguarded dashboard's."""
    if evidence.hops[-1].status != _OK or any(item.location.startswith("https://") for item in evidence.hops):
        return None  # a page of another place is not judged
    title = next((item.partition(">")[2].strip() for item in evidence.marks if item.startswith("<title")), "")
    pieces = " ".join(item for item in evidence.marks if not item.startswith("<title"))
    moved = len(evidence.hops) > 1
    dashboard = _ELEMENT in pieces or title == _TITLE
    sign_in = bool(_OF_SIGN_IN.search(pieces)) or (moved and _FIELD in pieces)
    if moved and dashboard:
        return "SignInBroken", "the redirect ends at the dashboard: no route leads to the sign-in", _SEE_DEX
    if dashboard and not SIGN_IN.isdisjoint(components):
        return "NoSignIn", "the dashboard is served without a login", _SEE_GUARD
    if dashboard or sign_in or (not moved and "centraldashboard" not in components):
        return None
    page = f"a page with the title {title!r}" if title else "a page without a title"
    return "OtherPage", f"{page}, which neither the dashboard nor the sign-in has", _SEE_ROUTES


def _describe(hop: Hop) -> str:
    return f"{hop.status} {hop.location}".strip()


def _is_sign_in(location: str) -> bool:
    """Whether a redirect goes to Dex, to what stands before it, or elsewhere over TLS, such as to another provider."""
    return location.startswith("https://") or any(step in location for step in _SIGN_IN)
