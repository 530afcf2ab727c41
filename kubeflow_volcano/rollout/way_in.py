"""What a run ends with: the address, the user, and how to read the password."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.access.gateway import NAMESPACE, SERVICE
from kubeflow_volcano.rollout.account.stored import kept_password, kubectl, reading_command
from kubeflow_volcano.rollout.settings.access import GATEWAY
from kubeflow_volcano.rollout.settings.people.connectors import public_issuer, redirect_uri
from kubeflow_volcano.rollout.settings.people.profiles import queue_advice
from kubeflow_volcano.rollout.settings.settings import Settings

_LOCAL_PORT = 8080
_DEFAULTS = {"http": 80, "https": 443}


def way_in(cluster: Cluster, settings: Settings) -> tuple[str, ...]:
    """Lines for a person: where to sign in, as whom, and the command that reads the password.

    Nothing of these where this inventory installs no gateway. Last comes what people have to know about queues. A
    cluster that does not answer any more is no failure of the run.
    """
    try:
        return tuple(_lines(cluster, settings))
    except ApiError as error:
        return (f"address: not known, as the API server answered {error}",)


def _lines(cluster: Cluster, settings: Settings) -> Iterator[str]:
    chosen = {part.name for part in settings.components}
    if GATEWAY in chosen:
        yield from _sign_in(cluster, settings, chosen)
    yield from (
        f"queues of teams: {text}"
        for text in queue_advice(settings.profiles, settings.volcano.version, settings.existing)
    )


def _sign_in(cluster: Cluster, settings: Settings, chosen: Collection[str]) -> Iterator[str]:
    yield from _address(cluster, settings)
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


def _address(cluster: Cluster, settings: Settings) -> Iterator[str]:
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
    yield f"address: {scheme}://{f'[{host}]' if ':' in host else host}{port}/"
    if access.tls == "self-signed":
        yield "  the certificate signs itself: browsers warn until they trust it (docs/access.md)"


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
