"""Family E, DNS: does a pod find every Service that matters by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.service_domains import domain_of
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.network import name_server
from kubeflow_volcano.validators.checks.refusals import not_tried
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped, warned
from kubeflow_volcano.validators.probes.network.dns import (
    DNS,
    Answer,
    DnsEvidence,
    expected_names,
    named_in_full,
)

_SERVER = Ref("v1", "Service", "kube-system", "kube-dns")
_MOST_SHOWN = 5
_ASKED_AGAIN_SECONDS = 5.0
"""An answer that takes so long came to a second query, because the first was lost (resolv.conf(5), timeout). One that
is only slow may be a moment without CPU."""


@check("E1", "dns", severity=Severity.BLOCKER, reads=name_server.READS, probe=DNS)
def dns(facts: Facts) -> Outcome:
    """Pods resolve kubernetes.default and every Service of the release within a second.

    Nothing works without DNS. The finding names the Service behind the address that pods ask, and the Deployment behind
    that if it has no ready pod. Objects of the release name Services with a domain, which a cluster of another domain
    needs as a second zone. Otherwise check the log of CoreDNS, and firewalls for port 53 (UDP and TCP) between nodes. A
    few slow answers mean lost packets; if all answers are slow, DNS has too little CPU.
    """
    evidence = facts.evidence(DNS)
    if evidence.node in facts.simulated_nodes:
        return skipped("Simulated", "the pod that was to ask is simulated: nothing runs in it.")
    if evidence.failure:
        outcome = not_tried(evidence.failure)
        return replace(outcome, because=()) if outcome.because == ("E1",) else outcome
    observed = {"server": evidence.server, "domain": evidence.domain, "node": evidence.node}
    if not evidence.domain:
        server = f"nameserver {evidence.server}" if evidence.server else "no nameserver"
        return failed(
            "NoClusterDomain",
            f"pods on {evidence.node} have {server}, and search no cluster domain.",
            expected="a search list with NAMESPACE.svc.DOMAIN in the pod's /etc/resolv.conf",
            observed=observed,
            objects=(Ref("v1", "Node", "", evidence.node),),
            todo="set clusterDNS and clusterDomain in the kubelet's configuration.",
        )
    return (
        _not_found(evidence, facts, observed)
        or _other_domain(evidence, facts, observed)
        or _elsewhere_found(evidence, expected_names(facts), observed)
        or _right(evidence, observed, facts.timing.slow_dns_seconds)
    )


def _not_found(evidence: DnsEvidence, facts: Facts, observed: Mapping[str, Any]) -> Outcome | None:
    unknown = [item.name for item in evidence.answers if not item.addresses and not _is_of_other(item, evidence)]
    if not unknown:
        return None
    observed = {**observed, "unknown": unknown, "left": list(evidence.left)}
    text = f"{evidence.server} finds no address for {few(unknown)}, asked twice from a pod on {evidence.node}"
    nothing = not any(item.addresses for item in evidence.answers)
    if nothing and (outage := name_server.outage(evidence.server, facts, observed)):
        return replace(outage, message=f"{text}: {outage.message}")
    return failed(
        "NotFound",
        f"{text}.",
        expected=f"an address for each of {counted(len(evidence.names), 'name')}",
        observed=observed,
        objects=(_SERVER, *map(_service, unknown)),
        todo="see CoreDNS: its pods, its log, and whether the node reaches it.",
        commands=("kubectl -n kube-system logs -l k8s-app=kube-dns --tail=50",),
    )


def _other_domain(evidence: DnsEvidence, facts: Facts, observed: Mapping[str, Any]) -> Outcome | None:
    """What the release's objects call Services, under a domain that the cluster does not have."""
    unknown = [item.name for item in evidence.answers if not item.addresses]
    if not unknown:
        return None
    users = named_in_full(facts)
    naming = dict.fromkeys(ref for name in unknown for ref in users.get(name, ()))
    wanted = " and ".join(sorted({domain_of(name).rstrip(".") for name in unknown}))
    own = evidence.domain
    return failed(
        "OtherDomain",
        f"the cluster's domain is {own}, and {evidence.server} finds no address for {few(unknown)}, as "
        f"{few([*map(str, naming)], 3)} call it.",
        expected=f"names under {wanted} as well",
        observed={**observed, "unknown": unknown},
        objects=(_SERVER, *naming),
        todo=f"name {wanted} beside {own} in the Corefile of CoreDNS: kubernetes {own} {wanted} in-addr.arpa ip6.arpa.",
        commands=("kubectl -n kube-system get configmap coredns -o yaml",),
    )


def _is_of_other(answer: Answer, evidence: DnsEvidence) -> bool:
    """Whether the name has another domain than the cluster."""
    return answer.name.endswith(".") and domain_of(answer.name).rstrip(".") != evidence.domain.lower().rstrip(".")


def _elsewhere_found(
    evidence: DnsEvidence, wanted: Mapping[str, frozenset[str]], observed: Mapping[str, Any]
) -> Outcome | None:
    wrong = {
        item.name: list(item.addresses)
        for item in evidence.answers
        if _elsewhere(item, wanted.get(item.name.partition(".svc.")[0], ()))
    }
    if wrong:
        return failed(
            "OtherAddress",
            f"{evidence.server} gives another address than the Service has: {few(list(wrong))}.",
            expected="; ".join(
                f"{name}: {', '.join(sorted(wanted[name.partition('.svc.')[0]]))}" for name in list(wrong)[:_MOST_SHOWN]
            ),
            observed={**observed, "answers": wrong},
            objects=(_SERVER, *map(_service, wrong)),
            todo="restart CoreDNS: it does not hear of changes; or see who else answers for the cluster's domain.",
        )
    return None


def _right(evidence: DnsEvidence, observed: Mapping[str, Any], limit_seconds: float) -> Outcome:
    times = [item.seconds for item in evidence.answers]
    slow, slowest = sum(seconds >= limit_seconds for seconds in times), max(times)
    observed = {**observed, "names": len(times), "slowest": f"{slowest:.2f} s", "left": list(evidence.left)}
    hiccup = slow == 1 and slowest < _ASKED_AGAIN_SECONDS
    if (slow > len(times) // 20 and not hiccup) or evidence.left:
        left = f" {len(evidence.left)} names were not asked for within the time." if evidence.left else ""
        return warned(
            "Slow",
            f"{slow} of {counted(len(times), 'name')} took {limit_seconds:.0f} s or more, the slowest {slowest:.2f} s."
            + left,
            expected=f"95 % of the answers within {limit_seconds:.0f} s",
            observed=observed,
            objects=(_SERVER,),
            todo="see the CPU limit of CoreDNS, and lost packets on the way to it.",
        )
    text = f"{counted(len(times), 'name')} found from a pod on {evidence.node}, the slowest within {slowest:.2f} s."
    asked = dict.fromkeys((_SERVER, *(_service(item.name) for item in evidence.answers)))
    return passed(text, objects=tuple(asked), observed=observed)


def _service(name: str) -> Ref:
    name, namespace = name.split(".")[:2]
    return Ref("v1", "Service", namespace, name)


def _elsewhere(answer: Answer, wanted: Iterable[str]) -> bool:
    """Whether a Service with an address of its own was found at none of its addresses."""
    own = {ip_address(text) for text in wanted}
    return bool(own) and not own & {ip_address(text) for text in answer.addresses if _is_address(text)}


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
