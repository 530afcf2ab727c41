"""What a run ends with: the address, the user, and how to read the password, and where the stores are."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from kubeflow_volcano.cluster.admission.policies import policy_api
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.access.gateway import INGRESS, NAMESPACE, SERVICE
from kubeflow_volcano.rollout.account.stored import kept_password, kubectl, reading_command
from kubeflow_volcano.rollout.settings.access import GATEWAY, AccessSettings
from kubeflow_volcano.rollout.settings.people.connectors import public_issuer, redirect_uri
from kubeflow_volcano.rollout.settings.people.profiles import queue_advice
from kubeflow_volcano.rollout.settings.pods.stores import PIPELINES
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import few

_LOCAL_PORT = 8080
_SECONDS = 5.0
_S3, _SEAWEEDFS = 9000, 8333
_DEFAULTS = {"http": 80, "https": 443}


def way_in(cluster: Cluster, settings: Settings, ask: Callable[[str], str] | None = None) -> tuple[str, ...]:
    """Lines for a person: where to sign in, as whom, and the command that reads the password.

    The address is asked by `ask`, which returns why it does not answer: a run ends with an address that it has reached,
    or says that it has not.

    Nothing of these where this inventory installs no gateway. Last comes what people have to know about queues. A
    cluster that does not answer any more is no failure of the run.
    """
    try:
        return tuple(_lines(cluster, settings, ask or answer))
    except ApiError as error:
        return (f"address: not known, as the API server answered {error}",)


def _lines(cluster: Cluster, settings: Settings, ask: Callable[[str], str]) -> Iterator[str]:
    chosen = {part.name for part in settings.components}
    if GATEWAY in chosen:
        yield from _sign_in(cluster, settings, chosen, ask)
    if PIPELINES in chosen:
        yield from _stores(cluster, settings)
    by_policy = bool(settings.profiles and policy_api(cluster))
    given = settings.volcano.version, settings.existing, settings.operator_version
    advice = queue_advice(settings.profiles, *given, by_policy=by_policy)
    yield from (f"queues of teams: {text}" for text in advice)


def _stores(cluster: Cluster, settings: Settings) -> Iterator[str]:
    """Where pipelines keep artifacts, and which Secret has the key; the same of a database outside."""
    place = settings.object_store.place if settings.object_store else ""
    for name in ("minio-service", "seaweedfs") if not place else ():
        if live := cluster.get(Ref("v1", "Service", "kubeflow", name)):
            ports = [item["port"] for item in live["spec"]["ports"]]
            place = place or f"http://{name}.kubeflow:{_S3 if _S3 in ports else _SEAWEEDFS}"
    if place:
        yield f"object store: {place}; its key: Secret mlpipeline-minio-artifact in each profile's namespace"
    if settings.database:
        yield f"database: {settings.database.place}; its login: Secret mysql-secret in the namespace kubeflow"


def _sign_in(cluster: Cluster, settings: Settings, chosen: Collection[str], ask: Callable[[str], str]) -> Iterator[str]:
    yield from _address(cluster, settings, ask)
    for item in settings.connectors:
        yield f"sign-in: also through {item.name} ({item.type})"
    if public_issuer(settings.connectors, settings.access):
        yield f"  redirect URI to register at providers: {redirect_uri(settings.access)}"
    if "dex" in chosen:
        yield f"user: {settings.user.email}"
        if settings.user.published_password:
            yield "password: the one that upstream publishes"
        elif kept_password(cluster, settings.user.email):
            yield f"password: {reading_command(_kubectl(settings))}"
        else:
            yield "password: kubeflow_user_password of the inventory, or the one that the user has had so far"
        if settings.users:
            yield f"users of kubeflow_users: {', '.join(item.email for item in settings.users)}"


def _address(cluster: Cluster, settings: Settings, ask: Callable[[str], str]) -> Iterator[str]:
    access = settings.access
    scheme = "https" if access.encrypted else "http"
    if not access.published:
        yield f"address: http://localhost:{_LOCAL_PORT} while this runs:"
        yield f"  {_kubectl(settings)} -n {NAMESPACE} port-forward service/{SERVICE.name} {_LOCAL_PORT}:80"
        return
    live = cluster.get(SERVICE) or {}
    host, port = access.host, ""
    if access.mode == "node-port":
        port = _node_port(live, _DEFAULTS[scheme])
    elif access.mode == "load-balancer" and not host:
        host = _assigned(live)
    if not host:
        yield "address: none yet; the load balancer has assigned none. This shows it (EXTERNAL-IP):"
        yield f"  {_kubectl(settings)} -n {NAMESPACE} get service {SERVICE.name}"
        return
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}{port}/"
    yield f"address: {url}"
    if error := ask(url):
        yield f"  not reached from this machine: {error}"
        with suppress(ApiError):  # the address itself is known
            yield from [f"  {text}" for text in _obstacles(cluster, access, live)]
    if access.tls == "self-signed":
        yield "  the certificate signs itself: browsers warn until they trust it (docs/access.md)"


def _obstacles(cluster: Cluster, access: AccessSettings, service: Object) -> Iterator[str]:
    """What the cluster's objects say about an address that does not answer."""
    if access.mode == "ingress":
        live = cluster.get(INGRESS)
        if live and not _assigned(live):
            yield (
                f"{INGRESS} has no address: no controller serves class {access.ingress_class}, or it publishes none. "
                "kubectl get ingressclass names its controller; see that it runs"
            )
    elif access.mode == "load-balancer" and not _assigned(service):
        yield f"{SERVICE} has no address: no load balancer serves it (MetalLB or the cloud's), or use node-port"
    elif access.mode == "node-port" and access.address:
        nodes = cluster.list("v1", "Node").items
        known = [item["address"] for node in nodes for item in node.get("status", {}).get("addresses") or ()]
        if access.host not in known:
            yield f"kubeflow_host {access.host} is the address of no node; there are {few(known)}"


def answer(url: str) -> str:
    """Why nothing answers at the address; empty where something does, whatever it says."""
    parts = urlsplit(url)
    secure = ssl._create_unverified_context()  # noqa: S323, SLF001  it is asked whether anybody is there
    make = partial(HTTPSConnection, context=secure) if parts.scheme == "https" else HTTPConnection
    connection = make(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("HEAD", "/")
        connection.getresponse()
    except (OSError, HTTPException, ValueError) as error:  # also of a name that is none to the resolver
        return str(error) or type(error).__name__
    finally:
        connection.close()
    return ""


def _node_port(service: Object, number: int) -> str:
    for item in service.get("spec", {}).get("ports") or ():
        if item["port"] == number and item.get("nodePort"):
            return f":{item['nodePort']}"
    return ""


def _assigned(service: Object) -> str:
    for item in service.get("status", {}).get("loadBalancer", {}).get("ingress") or ():
        return str(item.get("hostname") or item.get("ip") or "")
    return ""


def _kubectl(settings: Settings) -> str:
    return kubectl(settings.kubeconfig, settings.context)
