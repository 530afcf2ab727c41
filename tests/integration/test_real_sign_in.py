"""Signing in through the real Dex and oauth2-proxy of Kubeflow 1.9.1, over TLS: as E3 and E9, and in a browser.

In the gateway's place is Envoy (tests/integration/envoy_gateway.py), and in the dashboard's a page of it that says who
the caller is. The cluster is this file's own.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from selenium import webdriver
from selenium.webdriver.common.by import By

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import RehearsalSpec
from kubeflow_volcano.validators.core.outcome import Outcome
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import made, turned_off
from tests.integration.envoy_gateway import envoy_on_the_node, in_front
from tests.integration.node_directory import BASE, READER, READER_PASSWORD, serving
from tests.integration.test_rehearsal_full import ARCHIVE
from tests.integration.test_report_browser import chromium, screenshot
from tests.playing import ansible
from tests.rehearsed import cluster_name
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

SPEC = RehearsalSpec(cluster_name("signing"), gpu_nodes=1, extras=("cert-manager", "dex", "oauth2-proxy"))
COMPONENTS = ("cert-manager", "istio", "kubeflow-istio-resources", "oauth2-proxy", "dex", "centraldashboard")
PORT, PROVIDER_PORT, DIRECTORY_PORT = 31443, 31556, 1636
FIRST, ADA, EVE = "user@example.com", "ada@example.org", "eve@company.example"
PASSWORD = "correct horse battery staple"  # noqa: S105  of users that the tests make
DEX = Ref("apps/v1", "Deployment", "auth", "dex")
CERTIFICATE = Ref("v1", "Secret", "istio-system", "kubeflow-gateway-tls")
SESSION = "oauth2_proxy_kubeflow"


@dataclass(frozen=True)
class Site:
    """A cluster on which Kubeflow's sign-in is installed, at a port of its real node."""

    cluster: Cluster
    kubeconfig: Path
    host: str
    scratch: Path

    @property
    def url(self) -> str:
        return f"https://{self.host}:{PORT}/"

    def install(self, **more: object) -> str:
        """What the playbook says."""
        given = {
            "rehearsal_cluster_name": SPEC.name,
            "kubeflow_components": list(COMPONENTS),
            "kubeflow_release": "1.9.1",
            "kubeflow_source": str(ARCHIVE),
            "kubeflow_access": "node-port",
            "kubeflow_host": self.host,
            "kubeflow_node_port": PORT,
            "kubeflow_tls": "self-signed",
            **more,
        }
        done = ansible("-i", "inventory/rehearsal", "playbooks/install.yml", "-e", json.dumps(given), merged=True)
        assert done.returncode == 0, done.stdout[-4000:]
        return str(done.stdout)

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Envoy is in the gateway's place, and answers at the published address."""
        with in_front(self.cluster):
            until(lambda: answers(self.url))
            yield

    def certificate(self) -> Path:
        """The gateway's, which signs itself, as a file."""
        secret = self.cluster.get(CERTIFICATE)
        assert secret is not None
        file = self.scratch / "gateway.crt"
        file.write_bytes(base64.b64decode(secret["data"]["tls.crt"]))
        return file

    def judge(self, *select: str, email: str = "", password: str = "") -> dict[str, Outcome]:
        """Outcomes by check, with the credentials of somebody who trusts the gateway's certificate."""
        options = Options(self.kubeconfig, profile=COMPONENTS, select=select, stability_seconds=1, report_dir=None)
        named = replace(options, login_as=email, login_password=password, gateway_url=self.url)
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("SSL_CERT_FILE", str(self.certificate()))
            report = validate(named, silent)
        assert not password or password not in json.dumps(report.as_dict())
        return {item.check.id: item.outcome for item in report.results}

    def signs_in(self, email: str, password: str) -> tuple[str, str]:
        """Status and reason of E9, and the message too where it is not passed."""
        outcome = self.judge("E9", email=email, password=password)["E9"]
        return str(outcome.status), outcome.message if outcome.status == "pass" else outcome.reason


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if not ARCHIVE.is_file():
        pytest.skip(f"{ARCHIVE} is not there")
    scratch = tmp_path_factory.mktemp("signing")
    try:
        kubeconfig = up(SPEC).kubeconfig
        cluster = Cluster.connect(kubeconfig)
        with envoy_on_the_node(SPEC.name, scratch):
            yield Site(cluster, kubeconfig, address(cluster), scratch)
    finally:
        assert down(SPEC.name).left == ()


def answers(url: str) -> bool:
    """Whether anybody does, whatever it is."""
    return subprocess.run(["curl", "--silent", "--insecure", url], capture_output=True, check=False).returncode == 0


def address(cluster: Cluster) -> str:
    """The real node's, which this machine reaches too."""
    node = cluster.get(Ref("v1", "Node", "", "rehearsal-1"))
    assert node is not None
    return str(next(item["address"] for item in node["status"]["addresses"] if item["type"] == "InternalIP"))


@pytest.fixture(scope="module")
def password(site: Site) -> str:
    """The first user's, read with the command that the end of a run prints."""
    said = site.install()
    assert f"address: {site.url}" in said
    assert f"user: {FIRST}" in said
    (command,) = re.findall(r"^ *password: (.+)$", said, re.MULTILINE)
    kubectl = site.kubeconfig.parent / "bin/kubectl"
    done = subprocess.run(
        ["bash", "-c", command.replace("kubectl", shlex.quote(str(kubectl)), 1)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def browser(site: Site, tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """One that trusts the key of the gateway's certificate, and no other that nobody vouches for."""
    key = x509.load_pem_x509_certificate(site.certificate().read_bytes()).public_key()
    content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    pin = base64.b64encode(hashlib.sha256(content).digest()).decode()
    with chromium(tmp_path, f"--ignore-certificate-errors-spki-list={pin}") as driver:
        driver.implicitly_wait(20)
        yield driver


def choose(browser: webdriver.Chrome, url: str, connector: str) -> None:
    """Begin to sign in, with the connector of that name."""
    browser.get(url)
    browser.find_element(By.CSS_SELECTOR, "form[action='/oauth2/start'] button").click()
    browser.find_element(By.XPATH, f"//button[contains(., 'Log in with {connector}')]").click()


def fill(browser: webdriver.Chrome, email: str, password: str) -> None:
    """Dex's form."""
    name = browser.find_element(By.NAME, "login")
    name.clear()  # after a failure it still has the address
    name.send_keys(email)
    browser.find_element(By.NAME, "password").send_keys(password)
    browser.find_element(By.ID, "submit-login").click()


def known_as(browser: webdriver.Chrome, url: str) -> str:
    """Whom the dashboard's place takes the browser for, once it is shown."""
    until(lambda: browser.current_url == url, 30)
    body = browser.find_element(By.TAG_NAME, "body").text
    return str(json.loads(body)["user"])


def test_a_person_signs_in_with_a_browser(site: Site, password: str, browser: webdriver.Chrome, tmp_path: Path) -> None:
    with site.served():
        browser.get(site.url)
        assert browser.title == "Sign In"
        assert screenshot(browser, tmp_path / "first.png").startswith(b"\x89PNG")
        browser.find_element(By.CSS_SELECTOR, "form[action='/oauth2/start'] button").click()
        fill(browser, FIRST, "wrong horse")
        assert "Invalid" in browser.find_element(By.ID, "login-error").text
        assert screenshot(browser, tmp_path / "refused.png").startswith(b"\x89PNG")
        fill(browser, FIRST, password)
        assert known_as(browser, site.url) == FIRST
        cookie = browser.get_cookie(SESSION)
    assert cookie is not None
    assert (cookie["secure"], cookie["httpOnly"]) == (True, True)


def test_checks_sign_in_and_name_what_is_wrong(site: Site, password: str) -> None:
    with site.served():
        found = site.judge("E3", "E9", email=FIRST, password=password)
        assert {id_: str(item.status) for id_, item in found.items()} == {"E3": "pass", "E9": "pass"}
        assert "403 -> 302 /dex/auth -> 302 /dex/auth/local -> 302 /dex/auth/local/login -> 200" in found["E3"].message
        for words in (f"({SESSION})", f"knows {FIRST}"):
            assert words in found["E9"].message
        assert site.signs_in(FIRST, "wrong horse") == ("fail", "WrongPassword")
        assert site.signs_in("nobody@example.org", password) == ("fail", "WrongPassword")

        with turned_off(site.cluster, DEX):
            assert site.signs_in(FIRST, password) == ("fail", "ServerError")
        assert until(lambda: site.signs_in(FIRST, password)[0] == "pass")


def test_users_of_the_inventory_sign_in_until_they_leave_it(site: Site, password: str) -> None:
    users = [{"email": ADA, "password": PASSWORD}]
    first = site.install(kubeflow_users=users)
    assert PASSWORD not in first
    assert "changed=0" in site.install(kubeflow_users=users)
    with site.served():
        assert site.signs_in(ADA, PASSWORD)[0] == "pass"
        assert site.signs_in(FIRST, password)[0] == "pass"
        assert ADA in site.install(kubeflow_users=[])
        assert site.signs_in(ADA, PASSWORD) == ("fail", "WrongPassword")
        assert site.signs_in(FIRST, password)[0] == "pass"


def provider(host: str) -> tuple[Object, ...]:
    """A company's OIDC provider, with one user: another Dex, at a port of the node."""
    meta = {"name": "provider", "namespace": "default"}
    issuer = f"http://{host}:{PROVIDER_PORT}/dex"
    client = {"id": "kubeflow", "secret": "of-the-client", "name": "Kubeflow"}
    user = {"email": EVE, "username": "eve", "userID": "7"}
    config = {
        "issuer": issuer,
        "storage": {"type": "memory"},
        "web": {"http": "0.0.0.0:5556"},
        "oauth2": {"skipApprovalScreen": True},
        "enablePasswordDB": True,
        "staticPasswords": [user | {"hash": bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(10)).decode()}],
        "staticClients": [client | {"redirectURIs": [f"https://{host}:{PORT}/dex/callback"]}],
    }
    container = {
        "name": "dex",
        "image": "ghcr.io/dexidp/dex:v2.39.1",
        "args": ["serve", "/etc/dex/config.yaml"],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/dex"}],
        "readinessProbe": {"httpGet": {"path": "/dex/healthz", "port": 5556}, "periodSeconds": 1},
    }
    spec = {"containers": [container], "volumes": [{"name": "config", "configMap": {"name": "provider"}}]}
    port = {"port": 5556, "nodePort": PROVIDER_PORT}
    return (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"config.yaml": yaml.safe_dump(config)}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta | {"labels": {"app": "provider"}}, "spec": spec},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"type": "NodePort", "selector": {"app": "provider"}, "ports": [port]},
        },
    )


def test_somebody_of_a_provider_signs_in_through_a_connector(
    site: Site, password: str, browser: webdriver.Chrome
) -> None:
    config: dict[str, Any] = {"clientID": "kubeflow", "clientSecret": "of-the-client"}
    config["issuer"] = f"http://{site.host}:{PROVIDER_PORT}/dex"
    connectors = [{"type": "oidc", "id": "company", "name": "Company", "config": config}]
    with made(site.cluster, *provider(site.host)):
        until(lambda: answers(config["issuer"]))
        said = site.install(kubeflow_connectors=connectors)
        assert f"{site.url}dex/callback" in said
        assert "of-the-client" not in said
        assert "changed=0" in site.install(kubeflow_connectors=connectors)
        with site.served():
            assert site.signs_in(FIRST, password)[0] == "pass"
            choose(browser, site.url, "Company")
            until(lambda: browser.current_url.startswith(f"http://{site.host}:{PROVIDER_PORT}/dex/"), 30)
            fill(browser, EVE, PASSWORD)
            assert known_as(browser, site.url) == EVE


def test_somebody_of_a_directory_signs_in_with_its_password(
    site: Site, password: str, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    search = {"baseDN": f"ou=people,{BASE}", "username": "mail", "idAttr": "uid", "emailAttr": "mail", "nameAttr": "cn"}
    with serving(SPEC.name, tmp_path, site.host, DIRECTORY_PORT, {EVE: PASSWORD}) as authority:
        config: dict[str, Any] = {
            "host": f"{site.host}:{DIRECTORY_PORT}",
            "rootCAData": base64.b64encode(authority).decode(),
            "bindDN": READER,
            "bindPW": READER_PASSWORD,
            "userSearch": search,
        }
        connectors = [{"type": "ldap", "id": "directory", "name": "Directory", "config": config}]
        assert READER_PASSWORD not in site.install(kubeflow_connectors=connectors)
        assert "changed=0" in site.install(kubeflow_connectors=connectors)
        with site.served():
            assert site.signs_in(FIRST, password)[0] == "pass"
            choose(browser, site.url, "Directory")
            fill(browser, EVE, "wrong horse")
            assert "Invalid" in browser.find_element(By.ID, "login-error").text
            fill(browser, EVE, PASSWORD)
            assert known_as(browser, site.url) == EVE


def test_a_secret_that_is_not_dexs_is_a_failure_at_the_callback(site: Site, password: str) -> None:
    other = {"name": "OAUTH2_PROXY_CLIENT_SECRET", "value": "another", "valueFrom": None}
    spec = {"template": {"spec": {"containers": [{"name": "oauth2-proxy", "env": [other]}]}}}
    patch = {"target": {"kind": "Deployment", "name": "oauth2-proxy"}, "patch": {"spec": spec}}
    site.install(kubeflow_patches={"oauth2-proxy": [patch]})
    with site.served():
        outcome = site.judge("E9", email=FIRST, password=password)["E9"]
        assert (str(outcome.status), outcome.reason) == ("fail", "NoToken"), outcome.message
        site.install()
        assert site.signs_in(FIRST, password)[0] == "pass"
