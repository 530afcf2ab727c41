"""E9: the whole sign-in over real HTTP against a stand-in of the front door, and what each way it may end comes to."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.symptoms.read import symptoms
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks.network.login import login
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.acting import ProbeOptions
from kubeflow_volcano.validators.probes.network.browser import Browser, NoAnswerError, Request
from kubeflow_volcano.validators.probes.network.credentials import VARIABLE, Credentials, credentials
from kubeflow_volcano.validators.probes.network.front_door import DEPLOYMENT
from kubeflow_volcano.validators.probes.network.login import LOGIN, Login, gateway_pod, run
from kubeflow_volcano.validators.run.options import Options
from tests.samples.facts import facts, node, obj, pod
from tests.unit.validators.probes.network.front_door import PASSWORD, USER, Door, standing

OTHER = "https://idp.example.com/authorize?client_id=a"


def tried(door: Door, password: str = PASSWORD) -> tuple[Outcome, Login]:
    with standing(door):
        chosen = ProbeOptions(login=Credentials(USER, password, door.url))
        evidence = run(Session(None, options=chosen), facts(), silent)  # type: ignore[arg-type]
    return judged(evidence), evidence


def judged(evidence: Login, *objects: Any, expected: bool = False) -> Outcome:
    workloads = {DEPLOYMENT: "istio"} if expected else {}
    return login(facts(*objects, expected=Expectations(workloads=workloads), evidences={LOGIN: evidence}))


@pytest.mark.parametrize(
    "door", [Door(), Door(approval=True), Door(authservice=True), Door(authservice=True, approval=True)]
)
def test_credentials_give_a_session_on_every_way(door: Door) -> None:
    outcome, evidence = tried(door)
    assert outcome.status is Status.PASS, outcome.message
    assert (evidence.ending, evidence.cookies, evidence.user) == ("Session", (door.session,), USER)
    assert sum(line.startswith("POST /dex/auth/local/login") for line in door.asked) == 1


def test_neither_the_password_nor_a_code_stands_in_what_is_reported() -> None:
    for outcome, evidence in (tried(Door()), tried(Door(), "wrong & hush"), tried(Door(forgets=True))):
        said = f"{outcome} {evidence}"
        assert "hush" not in said
        assert "code=" not in said
    assert "hush" not in str(Credentials(USER, PASSWORD))


@pytest.mark.parametrize("status", [401, 200])
def test_a_wrong_password_fails_after_one_try(status: int) -> None:
    door = Door(refusal=status)  # 200 before Dex 2.36
    outcome, evidence = tried(door, "wrong")
    assert (outcome.status, outcome.reason) == (Status.FAIL, "WrongPassword")
    assert str(evidence.steps[-1]) == f"POST /dex/auth/local/login {status}"
    assert sum(line.startswith("POST") for line in door.asked) == 1


@pytest.mark.parametrize(
    ("door", "reason"),
    [
        (Door(answers={"/": (503, "", "")}), "ServerError"),
        (Door(answers={"/oauth2/callback": (503, "", "")}), "ServerError"),
        (Door(answers={"/oauth2/callback": (500, "", "")}), "NoToken"),
        (Door(answers={"/dex/auth": (404, "", "")}), "NoDex"),
        (Door(answers={"/": (404, "", "")}), "Refused"),
        (Door(answers={"/": (200, "", "dashboard")}), "NoSignIn"),
        (Door(answers={"/dex/auth/local/login": (200, "", "<p>hello")}), "NoPasswordForm"),
        (Door(answers={"/dex/auth": (302, "/dex/auth", "")}), "NoEnd"),
        (Door(answers={"/oauth2/callback": (302, "/", "")}), "SentBack"),
        (Door(answers={"/oauth2/callback": (302, "/home", ""), "/home": (200, "", "page")}), "NoSessionCookie"),
        (Door(forgets=True), "SentBack"),
        (Door(authservice=True, forgets=True), "SentBack"),
        (Door(secure=True), "SecureCookies"),
        (Door(sees="somebody@example.com"), "OtherUser"),
    ],
)
def test_what_is_no_session_of_this_user_fails(door: Door, reason: str) -> None:
    outcome, _ = tried(door)
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason), outcome.message


def test_a_dashboard_that_does_not_say_who_it_sees_is_no_reason() -> None:
    outcome, evidence = tried(Door(answers={"/api/workgroup/env-info": (200, "", "<html>")}))
    assert (outcome.status, evidence.user) == (Status.PASS, "")


@pytest.mark.parametrize(
    ("door", "reason"),
    [
        (Door(authservice=True, answers={"/": (302, OTHER, "")}), "OtherOrigin"),
        (Door(answers={"/dex/auth/local": (302, OTHER, "")}), "OtherOrigin"),
        (
            Door(
                answers={
                    "/dex/auth/local/login": (200, "", '<form method=post action="//x/"><input type=password name=p>')
                }
            ),
            "OtherOrigin",
        ),
        (Door(answers={"/dex/auth": (200, "", '<a href="/dex/auth/github?state=s">Log in</a>')}), "OtherConnectors"),
    ],
)
def test_where_others_sign_people_in_nothing_is_sent_and_the_check_is_skipped(door: Door, reason: str) -> None:
    outcome, _ = tried(door)
    assert (outcome.status, outcome.reason) == (Status.SKIP, reason)
    assert "client_id" not in outcome.message
    assert not any(line.startswith("POST") for line in door.asked)


def test_of_several_connectors_dex_s_own_passwords_are_chosen() -> None:
    links = '<a href="/dex/auth/github?state=s">A</a><a href="/dex/auth/local?state=s">B</a>'
    outcome, _ = tried(Door(answers={"/dex/auth": (200, "", links)}))
    assert outcome.status is Status.PASS


def test_cookies_for_https_alone_are_no_fault_of_a_gateway_that_was_reached_behind_its_tls() -> None:
    assert judged(Login(USER, "pod", forwarded=True, ending="SecureCookies")).status is Status.SKIP


def test_a_gateway_that_does_not_answer_proves_nothing() -> None:
    with socket.socket() as taken:  # and nobody listens there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        chosen = ProbeOptions(login=Credentials(USER, PASSWORD, url))
        outcome = judged(run(Session(None, options=chosen), facts(), silent))  # type: ignore[arg-type]
    assert (outcome.status, outcome.reason) == (Status.ERROR, "NoAnswer")
    assert "refused" in outcome.message


def test_a_gateway_that_takes_its_time_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent_one:
        browser = Browser(f"http://127.0.0.1:{silent_one.getsockname()[1]}/", Deadline(0.3))
        with pytest.raises(NoAnswerError, match="timed out"):
            browser.open(Request(browser.url))


def test_a_browser_stays_where_it_was_sent() -> None:
    browser = Browser("http://one.example.com/", Deadline(1))
    for url in ("https://one.example.com/", "http://one.example.com:81/", "http://one.example.com@two/", "file:///etc"):
        assert not browser.owns(url)
        with pytest.raises(ValueError, match="is not"):
            browser.open(Request(url))
    assert browser.owns("http://ONE.example.com:80/dex")


def test_without_a_gateway_or_with_a_simulated_one_nobody_signs_in() -> None:
    service = obj("Service", "istio-system/istio-ingressgateway", spec={"selector": {"app": "istio-ingressgateway"}})
    kwok = node("kwok", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    gateway = pod("istio-system/gw", owner="istio-ingressgateway", spec={"nodeName": "kwok", "containers": []})
    session = Session(None, options=ProbeOptions(login=Credentials(USER, PASSWORD)))  # type: ignore[arg-type]
    assert run(session, facts(service, kwok, gateway), silent) == Login(USER)
    assert judged(Login(USER), service, kwok, gateway).reason == "Simulated"
    assert judged(Login(USER)).reason == "NotInstalled"
    assert judged(Login(USER), expected=True).reason == "Missing"


def test_a_ready_pod_behind_the_gateway_s_service_is_asked_at_the_port_that_speaks_http() -> None:
    ports = [{"name": "https", "port": 443, "targetPort": 8443}, {"name": "http2", "port": 80, "targetPort": "web"}]
    spec = {"selector": {"app": "gateway"}, "ports": ports}
    service = obj("Service", "istio-system/istio-ingressgateway", spec=spec)
    containers = [{"name": "main", "ports": [{"name": "web", "containerPort": 8080}]}]
    late = pod("istio-system/a", metadata={"labels": {"app": "gateway"}}, status={"conditions": []})
    ready = pod("istio-system/b", metadata={"labels": {"app": "gateway"}}, spec={"containers": containers})
    found = gateway_pod(facts(service, late, ready))
    assert found is not None
    assert (found[0]["metadata"]["name"], found[1]) == ("b", 8080)
    assert gateway_pod(facts(service, late)) is None


def test_a_password_comes_from_a_private_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("p w\n")
    file.chmod(0o600)
    assert credentials("", file, "") is None
    assert credentials(USER, file, "", {VARIABLE: "other"}) == Credentials(USER, "p w")
    assert credentials(USER, None, "", {VARIABLE: "other"}) == Credentials(USER, "other")
    assert credentials(USER, None, "", {VARIABLE: "other"}, "kept") == Credentials(USER, "other")
    assert credentials(USER, None, "", {}, "kept") == Credentials(USER, "kept")


@pytest.mark.parametrize(
    ("text", "mode", "found"),
    [
        ("p", 0o640, "has mode 0640"),
        ("\n", 0o600, "is empty"),
        ('{\n  "password": "p",\n  "password_hash": "h"\n}\n', 0o600, "has 4 lines"),
    ],
)
def test_a_file_that_will_not_do_is_refused_before_anything_is_asked(
    tmp_path: Path, text: str, mode: int, found: str
) -> None:
    file = tmp_path / "password"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(InvalidInput, match=found):
        credentials(USER, file, "", {})


@pytest.mark.parametrize(
    ("file", "url", "found"),
    [
        (None, "", f"{VARIABLE} is not set"),
        (Path("/nowhere"), "", "No such file"),
        (None, "ftp://x", "--gateway-url ftp"),
    ],
)
def test_without_a_password_or_a_url_that_is_one_nothing_begins(file: Path | None, url: str, found: str) -> None:
    with pytest.raises(InvalidInput, match=found):
        credentials(USER, file, url, {})


def test_the_option_asks_for_the_check_and_reports_do_not_hold_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    assert login.opt_in in Options(login_as=USER).asked
    assert login.opt_in not in Options().asked
    assert PASSWORD not in str(Options(login_as=USER).shown)
    kept = Options(login_as=USER, login_password=PASSWORD)
    assert PASSWORD not in f"{kept.shown} {kept}"


def test_what_the_page_says_names_the_cause() -> None:
    answer = judged(
        Login(USER, "pod", ending="Refused", said='Bad Request Unregistered redirect_uri ("/oauth2/callback").')
    )
    assert (answer.status, answer.reason) == (Status.FAIL, "Refused")
    known = next(item for item in symptoms() if item.id == "unregistered-redirect")
    assert answer.todo == known.todo
