"""Signing in as a person does: from the gateway's first page through Dex's form to a session, and who that is then.

Facts about the ways, from kubeflow/manifests: oidc-authservice (to 1.8) redirects to /dex/auth; oauth2-proxy (from 1.9)
answers 403 with a page of its own, whose form leads to /oauth2/start (`skip_provider_button = false`). Dex's form
has `login` and `password`; Dex serves it again if they are wrong (with 401 from 2.36 on, before with 200;
server/templates.go), and requests an approval unless `skipApprovalScreen` is set. It leads back to the one that asked,
which then exchanges a code at Dex for a token, and answers 500 if Dex refuses it (oauth2-proxy, oauthproxy.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.port_forward import PortForward, port_forward
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import NODES, PODS, SERVICES
from kubeflow_volcano.validators.probes.acting import ProbeOptions, forwarding, noting
from kubeflow_volcano.validators.probes.network.browser import Browser, NoAnswerError, Page, Request, origin
from kubeflow_volcano.validators.probes.network.credentials import Credentials
from kubeflow_volcano.validators.probes.network.front_door import (
    DEPLOYMENT,
    HOST_NEEDS,
    SERVICE,
    host_of_gateway,
    http_port,
)
from kubeflow_volcano.validators.subjects.services import pod_behind

FORWARD = forwarding(SERVICE.namespace)

_SECONDS = 30.0
_MOST_STEPS = 20
_MOST_CHARACTERS = 2000
_SIGN_IN = ("/dex/", "/oauth2/", "/authservice/", "/login/")
_START, _CONNECTOR, _LOCAL = "/oauth2/start", "/dex/auth/", "/dex/auth/local"
_CALLBACKS = ("/oauth2/callback", "/authservice/oidc/callback", "/login/oidc")
_BROKEN = range(500, 600)
_ENV_INFO = "/api/workgroup/env-info"
"""Where the dashboard says who it takes its caller for (kubeflow/dashboard, centraldashboard/app/api_workgroup.ts)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request and the status of its answer; queries are left out, they belong to a session."""

    method: str
    path: str
    status: int

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.status}"


@dataclass
class Login:
    """How far one came. `ending` is a word for where the way ended, `cookies` the names of those that came with it.

    Without a `way` there was no attempt: there is no gateway, or only a simulated one. `failure` says why it ended.
    """

    email: str = ""
    way: str = ""
    forwarded: bool = False
    steps: tuple[Step, ...] = ()
    ending: str = ""
    elsewhere: str = ""
    """The origin to which the way leads out of the gateway's own."""
    cookies: tuple[str, ...] = ()
    user: str = ""
    """Who the dashboard says it is; empty where it does not say."""
    said: str = ""
    """The beginning of the page of an error with which the way ended."""
    failure: tuple[str, str] | None = None


def run(session: Session, facts: Facts, progress: Progress) -> Login:
    """Sign in once; about 1 s, at most 30 s. Makes nothing on the cluster but Dex's note of the attempt."""
    credentials = session.options.login if isinstance(session.options, ProbeOptions) else None
    if credentials is None:
        return Login()
    evidence, deadline = Login(credentials.email), Deadline(_SECONDS)
    with noting(evidence):
        if credentials.gateway_url:
            evidence.way = origin(credentials.gateway_url)
            browser = Browser(credentials.gateway_url, deadline)
        else:
            found = gateway_pod(facts)
            if found is None:
                return evidence
            pod, port = found
            evidence.way, evidence.forwarded = f"port {port} of pod {pod['metadata']['name']}", True
            ours = DEPLOYMENT in facts.expectations.workloads
            host = (ours and host_of_gateway(session.cluster)) or f"{SERVICE.name}.{SERVICE.namespace}"

            def connect(seconds: float) -> PortForward:
                return port_forward(session.cluster, SERVICE.namespace, pod["metadata"]["name"], port, seconds=seconds)

            browser = Browser(f"http://{host}/", deadline, connect)
        progress(f"E9 signing in as {credentials.email} at {evidence.way}")
        try:
            sign_in(browser, credentials, evidence)
        except NoAnswerError as error:
            evidence.failure = "NoAnswer", str(error)
    return evidence


def gateway_pod(facts: Facts) -> tuple[Object, int] | None:
    """A ready pod behind the gateway's Service, no simulated one, and its port for HTTP; None where there is none."""
    return pod_behind(facts, SERVICE, http_port)


def sign_in(browser: Browser, credentials: Credentials, evidence: Login) -> None:
    """Go the whole way, step by step, and note in `evidence` where it ends.

    Raises:
        NoAnswerError: the gateway did not answer.
        ApiError: the API server does not lead to it.
    """
    way = _Way(browser, credentials, evidence)
    page = way.go(Request(urljoin(browser.url, "/")))
    while not evidence.ending:
        following = way.after(page)
        if isinstance(following, str):
            evidence.ending = following
            evidence.said = page.text[:_MOST_CHARACTERS] if page.status >= HTTPStatus.BAD_REQUEST else ""
        elif not browser.owns(following.url):
            evidence.ending, evidence.elsewhere = "OtherOrigin", origin(following.url) or "a place that is no URL"
        elif len(evidence.steps) == _MOST_STEPS:
            evidence.ending = "NoEnd"
        else:
            page = way.go(following)
    if browser.withheld and evidence.ending in {"SentBack", "Refused", "NoEnd"}:
        evidence.ending = "SecureCookies"
    if evidence.ending == "Session":
        evidence.cookies = tuple(sorted(browser.cookies - way.cookies_before))
        evidence.user = _user(way.go(Request(urljoin(browser.url, _ENV_INFO))))


class _Way:
    """Where one is on the way to a session."""

    def __init__(self, browser: Browser, credentials: Credentials, evidence: Login) -> None:
        self._browser = browser
        self._credentials = credentials
        self._evidence = evidence
        self._sent_in = 0
        self.cookies_before: frozenset[str] = frozenset()

    def go(self, request: Request) -> Page:
        """Ask, and note the step."""
        page = self._browser.open(request)
        self._evidence.steps += (Step(request.method, urlsplit(request.url).path or "/", page.status),)
        return page

    def after(self, page: Page) -> Request | str:
        """What a person would do next, or the word for how it ended."""
        if page.location:
            return Request(page.location)
        if page.status in _BROKEN:
            refused = page.status == HTTPStatus.INTERNAL_SERVER_ERROR and urlsplit(page.url).path in _CALLBACKS
            return "NoToken" if refused and self._sent_in else "ServerError"
        form = next((item for item in page.forms if item.password and item.method == "POST"), None)
        if form and self._sent_in:  # at once: not accepted; later: accepted, and forgotten
            return "WrongPassword" if len(self._evidence.steps) == self._sent_in + 1 else "SentBack"
        if form:
            self._sent_in, self.cookies_before = len(self._evidence.steps), self._browser.cookies
            named = {form.text or "login": self._credentials.email, form.password: self._credentials.password}
            return form.sent(**named)
        return next(_onward(page), None) or self._ending(page)

    def _ending(self, page: Page) -> str:
        """The word for a page from which nothing leads on."""
        if page.status != HTTPStatus.OK:
            return "Refused"
        if not f"{urlsplit(page.url).path}/".startswith(_SIGN_IN):
            return "Session" if self._sent_in else "NoSignIn"
        if self._sent_in:
            return "Refused"
        others = any(_CONNECTOR in urlsplit(link).path for link in page.links)
        return "OtherConnectors" if others else "NoPasswordForm"


def _onward(page: Page) -> Iterator[Request]:
    """Steps at which a person only presses a button: an approval, oauth2-proxy's page, Dex's own users."""
    if page.status in {HTTPStatus.OK, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        for form in page.forms:
            if form.fields.get("approval") == "approve" or urlsplit(form.url).path == _START:
                yield form.sent()
        yield from (Request(link) for link in page.links if urlsplit(link).path.endswith(_LOCAL))


def _user(page: Page) -> str:
    try:
        answer = read_json(page.text) if page.status == HTTPStatus.OK else None
    except ValueError:
        return ""
    return str(answer.get("user") or "") if isinstance(answer, dict) else ""


LOGIN = Probe[Login]("login", run, "network", reads=(SERVICES, PODS, NODES), needs=(*HOST_NEEDS, *FORWARD))
