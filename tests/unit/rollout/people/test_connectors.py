"""Connectors in the manifests of every release: what Dex reads, where secrets are, and who expects which issuer."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import Object, named
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.account.sign_in import decoded
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import parse
from tests.unit.releases import Upstream

pytestmark = pytest.mark.upstream

SECRET = 'quo"te $and\\slash'  # noqa: S105  of no provider
ISSUER = "https://kf.example.org/dex"
INSIDE = "http://dex.auth.svc.cluster.local:5556/dex"
PUBLISHED: dict[str, Any] = {
    "kubeflow_access": "load-balancer",
    "kubeflow_host": "kf.example.org",
    "kubeflow_tls": "self-signed",
}
OIDC = {
    "type": "oidc",
    "id": "company",
    "name": "Company",
    "config": {"issuer": "https://id.example.org", "clientID": "kubeflow", "clientSecret": SECRET},
}
LDAP = {
    "type": "ldap",
    "id": "our-ldap",
    "name": "Directory",
    "config": {
        "host": "ldap.example.org",
        "startTLS": True,
        "bindPW": "plain",
        "userSearch": {"baseDN": "ou=people", "username": "mail", "filter": "(cn=a$b)"},
    },
}
GOLDEN = """\
connectors:
- type: oidc
  id: company
  name: Company
  config:
    issuer: https://id.example.org
    clientID: kubeflow
    clientSecret: $DEX_CONNECTOR_COMPANY_CLIENTSECRET
    redirectURI: https://kf.example.org/dex/callback
- type: ldap
  id: our-ldap
  name: Directory
  config:
    host: ldap.example.org
    startTLS: true
    bindPW: $DEX_CONNECTOR_OUR_LDAP_BINDPW
    userSearch:
      baseDN: ou=people
      username: mail
      filter: $DEX_CONNECTOR_OUR_LDAP_USERSEARCH_FILTER
"""


def found(objects: tuple[Object, ...], kind: str, name: str) -> Object:
    obj = named(objects, kind, name)
    assert obj is not None
    return obj


def config_of(objects: tuple[Object, ...]) -> Any:
    return yaml.safe_load(found(objects, "ConfigMap", "dex")["data"]["config.yaml"])


def expanded(text: str, environment: dict[str, str]) -> str:
    """As Go's os.ExpandEnv."""
    return re.sub(r"\$(\w+)|\$\{(\w+)\}", lambda name: environment.get(name[1] or name[2], ""), text)


def test_dex_gets_the_connectors_and_a_secret_has_their_secrets(upstream: Upstream) -> None:
    settings = upstream.settings(kubeflow_connectors=[OIDC, LDAP], **PUBLISHED)
    plain = upstream.patched(upstream.settings(**PUBLISHED))["dex"]
    objects = upstream.patched(settings)["dex"]
    config, before = config_of(objects), config_of(plain)
    text = found(objects, "ConfigMap", "dex")["data"]["config.yaml"]
    assert yaml.safe_dump({"connectors": config.pop("connectors")}, sort_keys=False) == GOLDEN
    assert config == {**before, "issuer": ISSUER}
    assert found(objects, "ConfigMap", "dex")["metadata"]["annotations"] == {
        "kubeflow-volcano/connectors": "company our-ldap"
    }
    kept = decoded(found(objects, "Secret", "dex-connectors"))
    everything = json.dumps([obj for obj in objects if obj["metadata"]["name"] != "dex-connectors"])
    assert base64.b64encode(SECRET.encode()).decode() not in everything
    assert "slash" not in everything
    deployment = found(objects, "Deployment", "dex")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert {"secretRef": {"name": "dex-connectors"}} in container["envFrom"]
    kinds = [obj["kind"] for obj in objects]
    assert objects.index(found(objects, "Secret", "dex-connectors")) < kinds.index("Deployment")
    # Dex up to v2.41 replaces in the JSON of the configuration, later ones in its values.
    tag = tuple(int(part) for part in container["image"].rpartition(":v")[2].split("."))
    entry = yaml.safe_load(text)["connectors"]
    if tag < (2, 42):
        read = json.loads(expanded(json.dumps(entry), kept))
    else:
        read = json.loads(json.dumps(entry), object_hook=lambda item: {k: expand(v, kept) for k, v in item.items()})
    assert read[0]["config"]["clientSecret"] == SECRET
    assert read[1]["config"]["userSearch"]["filter"] == "(cn=a$b)"
    assert read[1]["config"]["bindPW"] == "plain"


def expand(value: Any, environment: dict[str, str]) -> Any:
    return expanded(value, environment) if isinstance(value, str) else value


def test_who_checks_tokens_expects_the_issuer_and_reads_keys_inside(upstream: Upstream) -> None:
    parts = upstream.patched(upstream.settings(kubeflow_connectors=[OIDC], **PUBLISHED))
    if "oauth2-proxy" in parts:
        objects = parts["oauth2-proxy"]
        (config,) = [
            obj["data"]["oauth2_proxy.cfg"] for obj in objects if "oauth2_proxy.cfg" in (obj.get("data") or {})
        ]
        assert f'\noidc_issuer_url = "{ISSUER}"\n' in config
        assert f'\noidc_jwks_url = "{INSIDE}/keys"\n' in config
        assert f'\nredeem_url = "{INSIDE}/token"\n' in config
        assert "\nskip_oidc_discovery = true\n" in config
        (rule,) = found(objects, "RequestAuthentication", "dex-jwt")["spec"]["jwtRules"]
        assert (rule["issuer"], rule["jwksUri"]) == (ISSUER, f"{INSIDE}/keys")
        workload = found(objects, "Deployment", "oauth2-proxy")
    else:
        objects = parts["oidc-authservice"]
        data = found(objects, "ConfigMap", "oidc-authservice-parameters")["data"]
        assert (data["OIDC_PROVIDER"], data["OIDC_AUTH_URL"]) == (ISSUER, "/dex/auth")
        workload = found(objects, "StatefulSet", "oidc-authservice" if upstream.release == "1.8.1" else "authservice")
        pod = workload["spec"]["template"]["spec"]
        (source, _) = next(item for item in pod["volumes"] if item["name"] == "gateway")["projected"]["sources"]
        assert source["secret"]["name"] == "kubeflow-gateway-tls"
        assert "tls.key" not in json.dumps(pod["volumes"])
        assert {"name": "SSL_CERT_DIR", "value": "/etc/kubeflow-gateway"} in pod["containers"][0]["env"]
    assert workload["spec"]["template"]["metadata"]["annotations"]["kubeflow-volcano/issuer"] == ISSUER


def test_a_password_form_changes_no_issuer_and_needs_no_address(upstream: Upstream) -> None:
    plain, parts = (
        upstream.patched(upstream.settings()),
        upstream.patched(upstream.settings(kubeflow_connectors=[LDAP])),
    )
    assert config_of(parts["dex"])["issuer"] == INSIDE
    assert {name: objects for name, objects in parts.items() if name != "dex"} == {
        name: objects for name, objects in plain.items() if name != "dex"
    }


def test_without_connectors_nothing_changes(upstream: Upstream) -> None:
    objects = upstream.patched(upstream.settings())["dex"]
    assert "connectors" not in config_of(objects)
    assert "kubeflow-volcano/connectors" not in json.dumps(objects)
    assert named(objects, "Secret", "dex-connectors") is None


def test_another_secret_restarts_dex(upstream: Upstream) -> None:
    def annotation(text: str) -> str:
        connector = {**LDAP, "config": {**LDAP["config"], "bindPW": text}}  # type: ignore[dict-item]
        objects = upstream.patched(upstream.settings(kubeflow_connectors=[connector]))["dex"]
        template = found(objects, "Deployment", "dex")["spec"]["template"]
        return str(template["metadata"]["annotations"]["kubeflow-volcano/connectors"])

    assert annotation("one") == annotation("one") != annotation("two")


def test_manifests_without_dex_or_issuer_are_refused(upstream: Upstream) -> None:
    settings = upstream.settings(kubeflow_connectors=[OIDC], **PUBLISHED)
    lacking = [obj for obj in upstream.parts["dex"] if obj["kind"] != "ConfigMap"]
    with pytest.raises(InvalidInput, match=r"dex .*ConfigMap"):
        patched(lacking, "dex", settings)
    front = next(name for name in ("oauth2-proxy", "oidc-authservice") if name in upstream.parts)
    lacking = [obj for obj in upstream.parts[front] if obj["kind"] != "ConfigMap"]
    with pytest.raises(InvalidInput, match="Dex's issuer"):
        patched(lacking, front, settings)


def test_a_connector_of_the_manifests_stays_unless_it_has_the_same_id() -> None:
    given = {"type": "github", "id": "theirs", "name": "a", "config": {"clientSecret": "$OTHER"}}
    config = {"issuer": INSIDE, "connectors": [given, {**given, "id": "our-ldap"}]}
    meta = {"name": "dex", "namespace": "auth"}
    container = {"name": "dex", "image": "mirror/dex@sha256:" + 64 * "a"}
    objects = patched(
        [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": meta,
                "data": {"config.yaml": yaml.safe_dump(config)},
            },
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": meta,
                "spec": {"template": {"spec": {"containers": [container]}}},
            },
        ],
        "dex",
        parse({"kubeflow_profile": "full", "kubeflow_connectors": [LDAP]}),
    )
    entries = config_of(objects)["connectors"]
    assert [(item["id"], item["type"]) for item in entries] == [("theirs", "github"), ("our-ldap", "ldap")]
