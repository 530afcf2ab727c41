"""Do pods of every node reach pods of others, directly and through a Service: one client on each node, two servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.ended import End, watch_to_end
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, on_node, probe_pod
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import NODES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.acting import ACTING, POD_EVENTS, noting

MOST_NODES = 64
"""More nodes than these are not tried in one run; the quota of a probe namespace takes eight clients at a time."""

_SERVERS, _AT_ONCE = 2, 8
_SERVER_SECONDS, _CLIENT_SECONDS = 60.0, 75.0
_TICK = 0.2
_LABEL = "kfv.io/server"
_PORT = 8080

SERVE = f'mkdir -p /tmp/kfv && echo "$KFV_TEXT" > /tmp/kfv/index.html && exec httpd -f -p {_PORT} -h /tmp/kfv'
SCRIPT = """
set -u
for target in "$@"; do
  tries=0 got=
  while [ "$got" != "$KFV_TEXT" ] && [ "$tries" -lt 3 ]; do
    [ "$tries" -eq 0 ] || sleep 1
    tries=$((tries + 1))
    got=$(timeout 3 wget -q -O - "http://$target/" 2>&1) || got="no answer: $got"
  done
  if [ "$got" = "$KFV_TEXT" ]; then answer=yes; else answer=$(echo "no $got" | tr '\\n' ' ' | cut -c1-200); fi
  echo "$target $answer" >> /dev/termination-log
done
"""
"""For busybox sh and any other. A way is tried three times, as a Service needs a moment to become known to a node."""


@dataclass(frozen=True, slots=True)
class Way:
    """From a pod on node `client` to a pod on node `server`, by its own address or `through` a Service.

    `failure` is empty where the server's text came back.
    """

    client: str
    server: str
    through: bool
    failure: str = ""


@dataclass
class NetworkEvidence:
    """Every way that was tried.

    `left_out` are nodes on which no pod was tried, and why; `unjudged` those whose pod did not come to report all.
    `failure` is reason and text of what kept every way from being tried.
    """

    ways: tuple[Way, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    unjudged: Mapping[str, str] = field(default_factory=dict)
    failure: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """Where the server of a node is reached, as host:port: at its pod's address, and through its Service."""

    node: str
    pod: str
    service: str


def run(session: Session, facts: Facts, progress: Progress) -> NetworkEvidence:
    """Try the ways from every node; about 5 s and 3 s more for each eight nodes."""
    evidence = NetworkEvidence()
    with noting(evidence):
        nodes, evidence.left_out = candidates(facts)
        if nodes:
            progress(f"E2 pod to Service: from {counted(len(nodes), 'node')}")
            _try_all(session, evidence, nodes, _serve(session, nodes[:_SERVERS]))
    return evidence


def candidates(facts: Facts) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Names of nodes that are tried, whatever their taints, and why the others are not."""
    why = {item["metadata"]["name"]: _unfit(item, facts) for item in facts.all(NODES)}
    fit = sorted(name for name, text in why.items() if not text)
    beyond = dict.fromkeys(fit[MOST_NODES:], f"more than {MOST_NODES} nodes are not tried in one run")
    return tuple(fit[:MOST_NODES]), {name: text for name, text in why.items() if text} | beyond


def _unfit(node: Object, facts: Facts) -> str:
    if node["metadata"]["name"] in facts.simulated_nodes:
        return "simulated: nothing runs there"
    if assess(node).state is not State.READY:
        return "not ready"
    return "cordoned" if node.get("spec", {}).get("unschedulable") else ""


def _serve(session: Session, nodes: Sequence[str]) -> tuple[Server, ...]:
    """A server on each of these nodes, each behind a Service of its own.

    Raises:
        ProbeRefused: a pod or Service is not admitted, or a server does not come up.
        ApiError: the server does not answer.
    """
    namespace = session.namespace()
    pods, services = [], []
    for number, node in enumerate(nodes):
        name = f"kfv-{session.run}-server-{number}"
        pods.append(session.create(_pod(session, name, node, ["sh", "-c", SERVE], {_LABEL: name})))
        spec = {"selector": {_LABEL: name}, "ports": [{"port": _PORT}]}
        services.append(session.create(new_object("v1", "Service", name, namespace, spec=spec)))
    addresses = _addresses(session, pods)
    return tuple(
        Server(node, _url(addresses[pod["metadata"]["uid"]]), _url(service["spec"]["clusterIP"]))
        for node, pod, service in zip(nodes, pods, services, strict=True)
    )


def _addresses(session: Session, pods: Sequence[Object]) -> Mapping[str, str]:
    """Address by uid, as soon as all of the pods run."""
    addresses: dict[str, str] = {}
    wanted = {pod["metadata"]["uid"] for pod in pods}
    subject = Subject("v1", "Pod", pods[0]["metadata"]["namespace"], labels=_LABEL)
    with Observer(session.cluster, [subject], Deadline(_SERVER_SECONDS)) as observer:
        for change in observer.changes(_TICK):
            for obj in change.objects if change else ():
                status = obj.get("status", {})
                if obj["metadata"]["uid"] in wanted and status.get("phase") == "Running" and status.get("podIP"):
                    addresses[obj["metadata"]["uid"]] = status["podIP"]
            if session.stopped or addresses.keys() == wanted:
                break
    if addresses.keys() != wanted:
        raise ProbeRefused(
            f"{len(wanted) - len(addresses)} of {len(wanted)} servers do not run after {_SERVER_SECONDS:.0f} s"
        )
    return addresses


def _try_all(session: Session, evidence: NetworkEvidence, nodes: Sequence[str], servers: Sequence[Server]) -> None:
    clients = in_parallel(lambda item: _client(session, servers, *item), enumerate(nodes), _AT_ONCE)
    evidence.ways = tuple(way for ways, _ in clients for way in ways)
    evidence.unjudged = {node: failure for node, (_, failure) in zip(nodes, clients, strict=True) if failure}


def _client(session: Session, servers: Sequence[Server], number: int, node: str) -> tuple[tuple[Way, ...], str]:
    targets = [target for item in servers for target in (item.pod, item.service)]
    command = ["sh", "-c", SCRIPT, "client", *targets]
    try:
        pod = session.create(_pod(session, f"kfv-{session.run}-client-{number}", node, command))
        end = watch_to_end(session, pod, _CLIENT_SECONDS)
        session.delete(pod)
    except ProbeRefused as refusal:
        return (), str(refusal)
    return account(node, servers, end)


def account(node: str, servers: Sequence[Server], end: End) -> tuple[tuple[Way, ...], str]:
    """What the report of the pod on `node` says of each way, and what kept it from saying all of it."""
    said = {target: answer for target, _, answer in (line.partition(" ") for line in end.said.splitlines())}
    ways = tuple(
        Way(node, item.node, through, "" if said[target] == "yes" else said[target].removeprefix("no ").strip())
        for item in servers
        for target, through in ((item.pod, False), (item.service, True))
        if target in said
    )
    complete = len(ways) == 2 * len(servers)
    return ways, "" if complete else end.failure or "the probe pod ended before it had tried everything"


def _pod(
    session: Session,
    name: str,
    node: str,
    command: Sequence[str],
    labels: Mapping[str, str] | None = None,
) -> Object:
    container = {
        "image": session.options.busybox_image,
        "resources": SCRIPT_RESOURCES,
        "command": [*command],
        "env": [{"name": "KFV_TEXT", "value": f"kfv-{session.run}"}],
    }
    return probe_pod(name, session.namespace(), container, spec=on_node(node), labels=labels)


def _url(address: str) -> str:
    return f"[{address}]:{_PORT}" if ":" in address else f"{address}:{_PORT}"


NETWORK = Probe[NetworkEvidence](
    "network",
    run,
    "network",
    reads=(NODES,),
    needs=(
        *ACTING,
        *POD_EVENTS,
        *(Rule(verb, "", "services") for verb in ("create", "delete", "list", "watch")),
    ),
)
