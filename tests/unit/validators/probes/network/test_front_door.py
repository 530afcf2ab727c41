"""The gateway: the script run for real against a server that answers on purpose, and what the answers come to."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.ended import End
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks.network.gateway import gateway
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.network.front_door import DEPLOYMENT, GATEWAY, SCRIPT, FrontDoor, Hop, account
from tests.samples.facts import deployment, facts, node, obj, pod
from tests.serving import Handler, serving

busybox = pytest.mark.skipif(not shutil.which("busybox"), reason="needs busybox, whose wget is what probes have")


DEX = '<title>dex</title><body class=\'theme-body\'>\n<div class="dex-container"><input type="password"></div>'
PROXY = "<title>Sign In</title><form method='GET' action='/oauth2/start'>"
DASHBOARD = "<!doctype html>\n<title>Kubeflow Central Dashboard</title><body><main-page></main-page>"
NGINX = "<html><head><title>Welcome to nginx!</title></head><body>It works.</body></html>"


class Gateway(Handler):
    """Answers by path, as `server.answers` says; notes the Host that it was called by."""

    answers: Mapping[str, tuple[int, str] | tuple[int, str, str]]
    hosts: list[str]

    def do_GET(self) -> None:
        """Answer."""
        self.hosts.append(self.headers["Host"])
        status, location, *pages = self.answers[self.path.partition("?")[0]]
        self.answer("".join(pages).encode(), status, **({"Location": location} if location else {}))


@pytest.fixture
def server() -> Iterator[tuple[type[Gateway], str]]:
    """A server on this machine, and its address."""
    handler = type("Handler", (Gateway,), {"answers": {}, "hosts": []})
    with serving(handler) as port:
        yield handler, f"127.0.0.1:{port}"


def ask(address: str, tmp_path: Path) -> FrontDoor:
    """Run the script with busybox's wget."""
    log = tmp_path / "log"
    log.touch()
    script = SCRIPT.replace("/dev/termination-log", str(log))
    ip, _, port = address.partition(":")
    env = {"PATH": os.environ["PATH"], "KFV_ADDRESS": address, "KFV_HOST": "kubeflow.example.com"}
    env |= {"KFV_IP": ip, "KFV_PORT": port}
    for name in ("cut", "grep", "head", "nc", "sed", "sort", "timeout", "tr", "wget"):
        (tmp_path / name).symlink_to(str(shutil.which("busybox")))
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    subprocess.run(["/bin/sh", "-c", script], env=env, check=True)
    evidence = FrontDoor(address, env["KFV_HOST"])
    account(evidence, End(succeeded=True, node="n1", said=log.read_text(), reason="", failure="", seconds=1.0))
    return evidence


@pytest.mark.programs
@busybox
def test_a_redirect_is_followed_to_the_sign_in_and_its_query_is_not_kept(
    server: tuple[type[Gateway], str], tmp_path: Path
) -> None:
    handler, address = server
    handler.answers = {"/": (302, "/dex/auth?client_id=a&state=secret"), "/dex/auth": (200, "", DEX)}
    evidence = ask(address, tmp_path)
    assert evidence.hops == (Hop(302, "/dex/auth"), Hop(200))
    assert handler.hosts[0] == "kubeflow.example.com"
    assert judged(evidence).status is Status.PASS


@pytest.mark.programs
@busybox
def test_the_page_of_oauth2_proxy_is_a_sign_in_although_it_comes_with_403(
    server: tuple[type[Gateway], str], tmp_path: Path
) -> None:
    handler, address = server
    handler.answers = {
        "/": (403, "", PROXY),
        "/oauth2/start": (302, "/dex/auth?state=s"),
        "/dex/auth": (200, "", DEX),
    }
    evidence = ask(address, tmp_path)
    assert (evidence.hops, evidence.error) == ((Hop(403), Hop(302, "/dex/auth"), Hop(200)), "")
    assert judged(evidence).status is Status.PASS


@pytest.mark.programs
@busybox
def test_403_without_a_way_on_is_no_sign_in(server: tuple[type[Gateway], str], tmp_path: Path) -> None:
    handler, address = server
    handler.answers = {"/": (403, ""), "/oauth2/start": (403, "")}
    assert judged(ask(address, tmp_path)).reason == "Denied"


@pytest.mark.programs
@busybox
def test_a_policy_that_refuses_is_no_sign_in_although_one_is_there(
    server: tuple[type[Gateway], str], tmp_path: Path
) -> None:
    handler, address = server
    handler.answers = {
        "/": (403, "", "RBAC: access denied"),
        "/oauth2/start": (302, "/dex/auth?state=s"),
        "/dex/auth": (200, "", DEX),
    }
    evidence = ask(address, tmp_path)
    assert evidence.said == "RBAC: access denied"
    outcome = judged(evidence)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "Denied")
    assert "AuthorizationPolicy" in outcome.message


@pytest.mark.programs
@busybox
@pytest.mark.parametrize(
    ("answers", "status", "reason"),
    [
        ({"/": (200, "", DASHBOARD)}, Status.PASS, "AsClaimed"),
        ({"/": (200, "", NGINX)}, Status.WARN, "OtherPage"),
        ({"/": (200, "", "")}, Status.WARN, "OtherPage"),
        ({"/": (302, "/dex/auth", ""), "/dex/auth": (200, "", DASHBOARD)}, Status.FAIL, "SignInBroken"),
        ({"/": (302, "/dex/auth", ""), "/dex/auth": (200, "", NGINX)}, Status.WARN, "OtherPage"),
    ],
)
def test_the_page_is_read(
    server: tuple[type[Gateway], str],
    tmp_path: Path,
    answers: dict[str, tuple[int, str, str]],
    status: Status,
    reason: str,
) -> None:
    handler, address = server
    handler.answers = answers
    outcome = judged(ask(address, tmp_path), components={"istio", "centraldashboard"})
    assert (outcome.status, outcome.reason) == (status, reason)


@pytest.mark.programs
@busybox
def test_answers_that_are_none_are_told_apart(server: tuple[type[Gateway], str], tmp_path: Path) -> None:
    handler, address = server
    handler.answers = {"/": (503, "")}
    outcome = judged(ask(address, tmp_path))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ServerError")


@pytest.mark.programs
@busybox
def test_nobody_at_the_address_is_no_answer(tmp_path: Path) -> None:
    outcome = judged(ask("127.0.0.1:9", tmp_path))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoAnswer")
    assert "refused" in outcome.message


def judged(
    evidence: FrontDoor, *objects: dict[str, object], expected: bool = True, components: Collection[str] = ()
) -> Outcome:
    workloads: dict[Ref, str] = {DEPLOYMENT: "istio"} if expected else {}
    expectations = Expectations(workloads=workloads, components=frozenset(components))
    return gateway(facts(*objects, expected=expectations, evidences={GATEWAY: evidence}))


@pytest.mark.parametrize(
    ("hops", "reason"),
    [
        ((Hop(404),), "NoRoute"),
        ((Hop(403),), "Denied"),
        ((Hop(403), Hop(404)), "Denied"),
        ((Hop(403), Hop(302, "/dex/auth"), Hop(503)), "SignInBroken"),
        ((Hop(500),), "ServerError"),
        ((Hop(418),), "Unexpected"),
        ((Hop(302, "/somewhere"),), "OtherRedirect"),
        ((Hop(302, "/dex/auth"), Hop(503)), "SignInBroken"),
        ((Hop(302, "/oauth2/start"), Hop(302, "/dex/auth"), Hop(404)), "SignInBroken"),
        ((), "NoAnswer"),
    ],
)
def test_what_is_no_way_to_the_sign_in_fails(hops: tuple[Hop, ...], reason: str) -> None:
    outcome = judged(FrontDoor("10.96.0.5:80", "h", hops))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason)


@pytest.mark.parametrize(
    "hops",
    [(Hop(200),), (Hop(302, "/dex/auth"),), (Hop(301, "https://kubeflow.example.com/"),), (Hop(307, "/oauth2/start"),)],
)
def test_a_page_and_ways_to_a_sign_in_pass(hops: tuple[Hop, ...]) -> None:
    assert judged(FrontDoor("10.96.0.5:80", "h", hops)).status is Status.PASS


def met(*marks: str, after: tuple[Hop, ...] = (), components: Collection[str] = ("istio", "centraldashboard")) -> str:
    """What is found about a page with these marks, behind these answers; empty where nothing is."""
    evidence = FrontDoor("10.96.0.5:80", "h", (*after, Hop(200)), frozenset(marks))
    outcome = judged(evidence, components=components)
    return "" if outcome.status is Status.PASS else outcome.reason


def test_the_dashboard_without_a_login_is_an_open_door_where_a_sign_in_is_installed() -> None:
    guarded = ("istio", "centraldashboard", "oauth2-proxy", "dex")
    assert met("<main-page", components=guarded) == "NoSignIn"
    assert met("<title>kubeflow central dashboard", components=guarded) == "NoSignIn"
    assert met("<main-page") == ""


def test_pages_of_others_are_told_from_those_of_kubeflow() -> None:
    to_dex, elsewhere = (Hop(302, "/dex/auth"),), (Hop(302, "https://idp.example.com/authorize"),)
    assert met("<title>password store", 'type="password') == "OtherPage", "a login of another program"
    assert met("<title>welcome to nginx!", after=to_dex) == "OtherPage"
    assert met('type="password', after=to_dex) == "", "templates of one's own, with Dex's form"
    assert met("<title>acme", "/oauth2/") == ""
    assert met("<title>another", after=elsewhere) == "", "a page of another place is not judged"
    assert met("<title>another", components=("istio",)) == "", "nothing is expected at the first page"


def test_without_a_gateway_there_is_nothing_to_judge_unless_one_is_expected() -> None:
    missing = judged(FrontDoor())
    assert (missing.status, missing.reason, missing.because) == (Status.FAIL, "Missing", ("C2",))
    assert judged(FrontDoor(), expected=False).reason == "NotInstalled"


def test_a_simulated_gateway_answers_nobody() -> None:
    kwok = node("kwok", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    simulated = pod("istio-system/gw", owner="istio-ingressgateway", spec={"nodeName": "kwok", "containers": []})
    service = obj("Service", "istio-system/istio-ingressgateway", spec={})
    outcome = judged(FrontDoor(), kwok, simulated, service, deployment("istio-system/istio-ingressgateway"))
    assert (outcome.status, outcome.reason) == (Status.SKIP, "Simulated")


def test_a_pod_that_could_not_ask_proves_nothing() -> None:
    assert judged(FrontDoor("a", failure=("ProbeRefused", "quota"))).status is Status.ERROR
    evidence = FrontDoor("a")
    account(evidence, End(succeeded=True, node="n1", said="status 200 OK", reason="", failure="", seconds=1.0))
    assert evidence.failure is not None
    assert evidence.failure[0] == "NoReport"


def test_a_service_of_others_with_its_name_is_none_of_a_profile_without_istio() -> None:
    other = obj("Service", "istio-system/istio-ingressgateway", spec={"clusterIP": "10.0.0.1", "ports": []})
    session: Any = None
    assert GATEWAY.run(session, facts(other), silent) == FrontDoor()
