"""Does the cluster's name service answer a pod: every Service that matters is looked up once, and timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.service_domains import full_names
from kubeflow_volcano.experiment.ended import End, watch_to_end
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, probe_pod
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import (
    AUTHORIZATION_POLICIES,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENVOY_FILTERS,
    NAMESPACES,
    NODES,
    REQUEST_AUTHENTICATIONS,
    SERVICES,
    STATEFUL_SETS,
)
from kubeflow_volcano.validators.probes.acting import ACTING, POD_EVENTS, noting
from kubeflow_volcano.validators.subjects.issues import age, judged

FIRST = "kubernetes.default"
"""What every cluster has; where it is not found, nothing is."""

_NAMING = (AUTHORIZATION_POLICIES, DEPLOYMENTS, ENVOY_FILTERS, REQUEST_AUTHENTICATIONS, STATEFUL_SETS)
"""Kinds of which objects of the release name Services in full."""
_PER_POD = 100
_MOST_BYTES = 3600
"""The kubelet keeps the last 4096 bytes of a termination message; the longest answer has 340."""
_MOST_ADDRESSES = 8
_MORE = "more"
"""The report is full, and names are left."""
_SECONDS = 75.0
_ASKING_SECONDS = 40

SCRIPT = f"""
set -u
said=0
say() {{ printf '%s\\n' "$*" >> /dev/termination-log; said=$((said + ${{#1}} + 1)); }}
now() {{ read up _ < /proc/uptime; hundredths=${{up%.*}}${{up#*.}}; }}
look() {{
  now; before=$hundredths
  case $1 in *.) full=$1 ;; *) full=$1.svc.$domain. ;; esac
  found=$(timeout 6 nslookup "$full" 2>&1 |
    sed -n '/^Name:/,${{ s/^Address[^:]*: *\\([^ ]*\\).*/\\1/p; }}' | sort -u | head -n {_MOST_ADDRESSES} |
    tr '\\n' ' ')
  now; took=$((hundredths - before))
}}
say "server $(sed -n 's/^nameserver *//p' /etc/resolv.conf | head -n 1)"
domain=$(sed -n 's/^search *[^ ]*\\.svc\\.\\([^ ]*\\).*/\\1/p' /etc/resolv.conf | head -n 1)
say "domain $domain"
[ -n "$domain" ] || exit 0
now; begin=$hundredths
number=0
for name in "$@"; do
  look "$name"
  [ -n "$found" ] || {{ first=$took; sleep 1; look "$name"; took=$((took + first)); }}
  say "$number $took $found"
  [ -n "$found" ] || [ "$number" -gt 0 ] || exit 0
  number=$((number + 1))
  [ "$said" -lt {_MOST_BYTES} ] || {{ say {_MORE}; exit 0; }}
  now; [ $((hundredths - begin)) -lt {_ASKING_SECONDS}00 ] || exit 0
done
"""
"""For busybox sh and any other; reports to the termination log.

Names are service.namespace, or full ones with a final dot. The script queries full names and ignores the exit code of
nslookup: busybox ends with 1 as soon as one suffix of the search list, or one kind of address, has no answer
(docker-library/busybox#61). A name without an answer is queried once more, because packets get lost. The clock is
monotonic and counts hundredths.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one name within `seconds`; no address where there was no answer.

    `name` is service.namespace, or what objects call it in full, with a final dot.
    """

    name: str
    seconds: float
    addresses: tuple[str, ...]


@dataclass
class DnsEvidence:
    """What a pod received. `domain` is the cluster's, empty where the pod's resolver does not know it.

    Of `names`, those without an answer in `answers` were not asked for: the time was over, or already the first had no
    address. `failure` is reason and text of what kept the pod from asking at all.
    """

    names: tuple[str, ...] = ()
    server: str = ""
    domain: str = ""
    node: str = ""
    answers: tuple[Answer, ...] = ()
    failure: tuple[str, str] | None = None

    @property
    def left(self) -> tuple[str, ...]:
        """Names that were not asked for."""
        asked = {item.name for item in self.answers}
        return tuple(name for name in self.names if name not in asked)


def expected_names(facts: Facts) -> Mapping[str, frozenset[str]]:
    """Cluster addresses by name, as service.namespace: `FIRST`, and the Services in the release's namespaces.

    A Service without a cluster address (headless) has a name as long as a pod behind it is ready, and then no address
    of its own; one that stands for a name outside, and one that was made a moment ago, are left out.

    Raises:
        CannotJudgeError: what is needed could not be read.
    """
    names = {_name(item): _addresses(item) for item in judged(facts, SERVICES) if _must_resolve(item, facts)}
    first = facts.get(SERVICES, "default", "kubernetes")
    return {FIRST: _addresses(first) if first else frozenset(), **names}


def named_in_full(facts: Facts) -> Mapping[str, Sequence[Ref]]:
    """Objects of the release that name one of `expected_names` with the cluster's domain, by that name and a final dot.

    Those of components of others are left out, and kinds that could not be read.

    Raises:
        CannotJudgeError: what is needed could not be read.
    """
    known, own = expected_names(facts), facts.expectations
    parts = {**own.workloads, **own.policies}
    objects = [
        item
        for resource in _NAMING
        if resource not in facts.unread
        for item in facts.all(resource)
        if parts.get(Ref.of(item), "") in own.components - own.existing
    ]
    names = full_names(objects, own.namespaces)
    return {f"{name}.": refs for name, refs in names.items() if name.partition(".svc.")[0] in known}


def _name(service: Object) -> str:
    meta = service["metadata"]
    return f"{meta['name']}.{meta['namespace']}"


def _addresses(service: Object) -> frozenset[str]:
    spec = service["spec"]
    return frozenset(
        text for text in (spec.get("clusterIPs") or [spec.get("clusterIP", "")]) if text not in {"", "None"}
    )


def _must_resolve(service: Object, facts: Facts) -> bool:
    spec = service["spec"]
    if (
        service["metadata"]["namespace"] not in facts.expectations.namespaces
        or age(service, facts) < facts.timing.grace_seconds
    ):
        return False
    if spec.get("type") == "ExternalName":
        return False
    return bool(_addresses(service)) or _has_ready_endpoint(service, facts)


def _has_ready_endpoint(service: Object, facts: Facts) -> bool:
    meta = service["metadata"]
    return any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for item in facts.all(ENDPOINT_SLICES)
        if item["metadata"]["namespace"] == meta["namespace"]
        and (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == meta["name"]
        for endpoint in item.get("endpoints") or ()
    )


def run(session: Session, facts: Facts, progress: Progress) -> DnsEvidence:
    """Resolve every Service of the release from a pod; about 3 s, at most 75 s for each report.

    There is no query if every node is simulated; the evidence then names one of them.
    """
    evidence = DnsEvidence()
    with noting(evidence):
        nodes = {item["metadata"]["name"] for item in facts.all(NODES)}
        if nodes and nodes <= facts.simulated_nodes:
            evidence.node = min(nodes)
            return evidence
        evidence.names = tuple(dict.fromkeys((FIRST, *named_in_full(facts), *expected_names(facts))))
        progress(f"E1 DNS: {counted(len(evidence.names), 'name')} from a pod")
        rest, number = evidence.names[1:], 0
        while rest or not number:
            some = (FIRST, *rest[: _PER_POD - 1])
            end = _ask(session, some, number)
            account(evidence, some, end)
            if evidence.failure or not evidence.domain or not evidence.answers[0].addresses:
                break
            done = len(some) - 1
            if _MORE in end.said.splitlines():  # those that were not asked for are next
                done = len({*some[1:]} & {item.name for item in evidence.answers})
            rest, number = rest[done:], number + 1
    return evidence


def _ask(session: Session, names: Sequence[str], number: int) -> End:
    container = {
        "image": session.options.busybox_image,
        "resources": SCRIPT_RESOURCES,
        "command": ["sh", "-c", SCRIPT, "dns", *names],
    }
    pod = session.create(probe_pod(f"kfv-{session.run}-dns-{number}", session.namespace(), container))
    end = watch_to_end(session, pod, _SECONDS)
    session.delete(pod)
    return end


def account(evidence: DnsEvidence, names: Sequence[str], end: End) -> None:
    """Add what one pod's report says about `names`."""
    evidence.node = end.node
    said = [line.split() for line in end.said.splitlines()]
    facts = {words[0]: words[1] if len(words) > 1 else "" for words in said if words and not words[0].isdigit()}
    if end.failure or "domain" not in facts:
        evidence.failure = end.reason or "NoReport", end.failure or "the probe pod ended without a report"
        return
    evidence.server, evidence.domain = facts.get("server", ""), facts["domain"]
    known = {item.name for item in evidence.answers}
    rows = (words for words in said if len(words) > 1 and words[0].isdigit() and int(words[0]) < len(names))
    evidence.answers += tuple(
        Answer(names[int(words[0])], int(words[1]) / 100, tuple(words[2:]))
        for words in rows
        if names[int(words[0])] not in known
    )


DNS = Probe[DnsEvidence](
    "dns", run, "network", reads=(SERVICES, NAMESPACES, ENDPOINT_SLICES, NODES, *_NAMING), needs=(*ACTING, *POD_EVENTS)
)
