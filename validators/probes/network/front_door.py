"""The gateway's answer to an unauthenticated request from a pod, and where its redirects lead.

From a pod, and not through the API server's proxy of services: that needs a right (`get services/proxy`) with which one
reaches everything behind the gateway's namespace, and the pod needs none that probes do not need anyway.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.ended import End, watch_to_end
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, probe_pod
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import NODES, PODS, SERVICES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.acting import ACTING, POD_EVENTS, noting
from kubeflow_volcano.validators.subjects import services
from kubeflow_volcano.validators.subjects.simulation import simulated_workload

SERVICE = services.GATEWAY
DEPLOYMENT = Ref("apps/v1", "Deployment", "istio-system", "istio-ingressgateway")
_GATEWAY = Ref("networking.istio.io/v1beta1", "Gateway", "kubeflow", "kubeflow-gateway")
HOST_NEEDS = (Rule("get", "networking.istio.io", "gateways", "kubeflow"),)
"""What `host_of_gateway` needs."""

_PORT_NAMES = ("http2", "http")
_HTTP = 80
_SECONDS = 60.0

SCRIPT = r"""
marks() {
  tr '\r\n\t' '   ' |
    grep -oiE '<title[^>]*>[^<]*|<main-page|type=.?password|/(dex|oauth2|authservice)/|[^-a-z]dex-[a-z]+' |
    sort -u | cut -c1-120 | head -n 9 | sed 's/^/mark /'
}
ask() {
  { {
    timeout 20 wget -S -O - --header "Host: $KFV_HOST" "http://$KFV_ADDRESS$1" 2>&3 | head -c 262144 | marks >&4
  } 3>&1 | tr -d '\r' |
    sed -n -e 's/^ *HTTP\/[0-9.]* *\(.*\)/status \1/p' \
           -e 's/^ *[Ll]ocation: *\([^?]*\).*/location \1/p' \
           -e 's/^wget: *\(.*\)/error \1/p' | cut -c1-300 | head -n 12 >&4
  } 4>&1
}
body() {
  { printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$KFV_HOST"; sleep 2; } |
    timeout 10 nc "$KFV_IP" "$KFV_PORT" 2>/dev/null | tr -d '\r' | sed '1,/^$/d' | tr '\n\t' '  ' | cut -c1-300
}
first=$(ask /)
echo "$first" >> /dev/termination-log
case $first in "status "[45]*) echo "said $(body)" >> /dev/termination-log;; esac
case $first in "status 403"*) ask '/oauth2/start?rd=/' >> /dev/termination-log;; esac
echo end >> /dev/termination-log
"""
"""For busybox sh and any other. Queries of locations are left out: they hold what belongs to a session.

From Kubeflow 1.9.1 on the first page is oauth2-proxy's own, with 403 and a button (`skip_provider_button = false`):
where that leads is asked too. wget shows no page that comes with an error, so nc requests it.
"""


@dataclass(frozen=True, slots=True)
class Hop:
    """One answer; `location` is where it sends the caller, without its query."""

    status: int
    location: str = ""


@dataclass
class FrontDoor:
    """What was answered, hop by hop. `error` is what ended the chain; `failure` what kept the pod from asking.

    `marks` are pieces of the last page by which it is recognised, its title among them; `said` is the beginning of the
    page of an error. Without an `address` there was no request: there is no gateway, or none with a real pod.
    """

    address: str = ""
    host: str = ""
    hops: tuple[Hop, ...] = ()
    marks: frozenset[str] = frozenset()
    said: str = ""
    error: str = ""
    failure: tuple[str, str] | None = None


def run(session: Session, facts: Facts, progress: Progress) -> FrontDoor:
    """Ask the gateway for its first page; about 2 s, at most 60 s.

    Asks nothing where there is no real gateway, and nothing of a Service with its name where no Istio is chosen.
    """
    evidence = FrontDoor()
    with noting(evidence):
        service = facts.get(SERVICES, SERVICE.namespace, SERVICE.name)
        expected = "istio" in facts.expectations.components
        if service is None or not expected or simulated_workload(facts, DEPLOYMENT):
            return evidence
        evidence.address = _address(service)
        ours = DEPLOYMENT in facts.expectations.workloads
        evidence.host = (ours and host_of_gateway(session.cluster)) or f"{SERVICE.name}.{SERVICE.namespace}"
        progress(f"E3 gateway: {evidence.address} asked from a pod")
        account(evidence, _ask(session, evidence, service))
    return evidence


def _address(service: Object) -> str:
    address, port = _endpoint(service)
    return f"{f'[{address}]' if ':' in address else address}:{port}"


def _endpoint(service: Object) -> tuple[str, int]:
    return service["spec"].get("clusterIP", ""), http_port(service).get("port", _HTTP)


def http_port(service: Object) -> Object:
    """The port of the gateway's Service that speaks HTTP without TLS; nothing where none looks like it."""
    ports = service["spec"].get("ports", ())
    return next((item for item in ports if item.get("name") in _PORT_NAMES or item["port"] == _HTTP), {})


def host_of_gateway(cluster: Cluster) -> str:
    """The host name that Kubeflow's Gateway accepts; empty if it accepts all."""
    live = cluster.get(_GATEWAY) if _GATEWAY.kind in cluster.kinds(_GATEWAY.api_version) else None
    servers = (live or {}).get("spec", {}).get("servers") or ()
    hosts = [host.rpartition("/")[2] for server in servers for host in server.get("hosts") or ()]
    return "" if "*" in hosts or not hosts else hosts[0].replace("*", "kubeflow", 1)


def _ask(session: Session, evidence: FrontDoor, service: Object) -> End:
    address, port = _endpoint(service)
    told = {"KFV_ADDRESS": evidence.address, "KFV_IP": address, "KFV_PORT": str(port), "KFV_HOST": evidence.host}
    container = {
        "image": session.options.busybox_image,
        "resources": SCRIPT_RESOURCES,
        "command": ["sh", "-c", SCRIPT],
        "env": [{"name": name, "value": value} for name, value in told.items()],
    }
    pod = session.create(probe_pod(f"kfv-{session.run}-gateway", session.namespace(), container))
    end = watch_to_end(session, pod, _SECONDS)
    session.delete(pod)
    return end


def account(evidence: FrontDoor, end: End) -> None:
    """Add what the pod's report says."""
    lines = end.said.splitlines()
    if end.failure or lines[-1:] != ["end"]:
        evidence.failure = end.reason or "NoReport", end.failure or "the probe pod ended without a report"
        return
    for word, _, rest in (line.partition(" ") for line in lines):
        if word == "status" and (number := re.match(r"\d{3}", rest)):
            evidence.hops, evidence.error = (*evidence.hops, Hop(int(number[0]))), ""
        elif word == "location" and evidence.hops:
            evidence.hops = (*evidence.hops[:-1], Hop(evidence.hops[-1].status, rest))
        elif word == "error":
            evidence.error = rest
        elif word == "mark":
            evidence.marks |= {rest.strip().lower()}
        elif word == "said":
            evidence.said = rest


GATEWAY = Probe[FrontDoor](
    "gateway", run, "network", reads=(SERVICES, NODES, PODS), needs=(*ACTING, *POD_EVENTS, *HOST_NEEDS), asks_first=True
)
