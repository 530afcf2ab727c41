"""Family A: is the API server there, of the right age and on time, and may the caller ask it."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import counted
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, errored, failed, passed, warned
from validators.core.rights import Rule
from validators.reading.permissions import as_yaml

__all__ = ["CHECKS"]

API_SERVER = Ref("v1", "Service", "default", "kubernetes")

_SKEW_WARN, _SKEW_FAIL = 5.0, 60.0
"""Seconds (checks.md, A3)."""


@check("A1", "api-server", severity=Severity.BLOCKER)
def api_server(facts: Facts) -> Outcome:
    """The API server is ready and its version fits the release.

    /readyz must answer ok three times in a row, and the server's minor version must lie within the range that the
    chosen Kubeflow release was tested with. Choose a release that fits the server, or upgrade the server.
    """
    facts.demand("readyz")
    bounds = facts.expectations.kubernetes
    release = facts.expectations.release
    expected = f"/readyz answers ok 3 times; Kubernetes {bounds} for Kubeflow {release}"
    observed = {"server_version": facts.server_version, "readyz": list(facts.ready_answers)}
    sick = [answer for answer in facts.ready_answers if answer != "ok"]
    if sick:
        return failed(
            "NotReady",
            f"{len(sick)} of {len(facts.ready_answers)} answers of /readyz were not ok: {sick[0]}",
            expected=expected,
            observed=observed,
            objects=(API_SERVER,),
            todo="see which part of the API server is not ready.",
            commands=("kubectl get --raw '/readyz?verbose'",),
        )
    if not bounds.covers(facts.server_version):
        return failed(
            "VersionOutsideRange",
            f"Kubeflow {release} was tested on Kubernetes {bounds}, the server is {facts.server_version}.",
            expected=expected,
            observed=observed,
            objects=(API_SERVER,),
            todo="choose a release that fits (--release), or another Kubernetes version.",
        )
    message = f"/readyz answered ok {len(facts.ready_answers)} times; {facts.server_version} lies within {bounds}."
    return passed(message, objects=(API_SERVER,), observed=observed)


@check("A2", "own-permissions", severity=Severity.MAJOR)
def own_permissions(facts: Facts) -> Outcome:
    """Whoever runs this may do everything that the chosen checks need.

    Each rule is asked of the API server by a SelfSubjectAccessReview; a list of one's rights would prove nothing. What
    is missing makes the checks that need it errors, never passes. Grant the rules that are printed;
    `python -m validators rbac` prints all that a run needs, as roles and bindings.
    """
    facts.demand("own-access")
    denied = [rule for rule, granted in facts.own_access.items() if not granted]
    if not facts.own_access:
        return errored("NothingAsked", "no rule was asked for.", todo="choose a check that needs a right (--select).")
    if denied:
        by_place = {where: [rule for rule in denied if rule.namespace == where] for where in _places(denied)}
        return errored(
            "Forbidden",
            f"{len(denied)} of {len(facts.own_access)} rules are not granted: {', '.join(map(str, denied))}.",
            expected="every rule that the chosen checks declare",
            observed={str(rule): "denied" for rule in denied},
            objects=(API_SERVER,),
            todo="grant these rules, or run as somebody who has them:\n"
            + "\n".join(f"# {_place(where)}\n{as_yaml(rules)}" for where, rules in by_place.items()),
        )
    places = ", ".join(_place(where) for where in _places(facts.own_access))
    message = f"all {len(facts.own_access)} rules are granted, {places}."
    return passed(message, objects=(API_SERVER,))


def _places(rules: Iterable[Rule]) -> list[str]:
    return sorted({rule.namespace for rule in rules})


def _place(namespace: str) -> str:
    return f"in namespace {namespace}" if namespace else "for the whole cluster"


@check(
    "A3",
    "clock-skew",
    severity=Severity.MAJOR,
    needs=(Rule("list", "coordination.k8s.io", "leases", "kube-node-lease"), Rule("list", "", "nodes")),
)
def clock_skew(facts: Facts) -> Outcome:
    """The clocks of this host, of the API server and of every node agree within 5 s.

    From 60 s on certificates are not valid yet or any more, tokens expire, and Leases are taken from those who hold
    them. The API server's clock is read from its answers, a node's from the moment at which its kubelet last renewed
    its Lease; before Kubernetes 1.25 that tells of a clock that is behind only from 40 s on. Let chronyd keep the
    clocks of all hosts (`timedatectl`, `chronyc tracking`).
    """
    facts.demand("clocks")
    found = facts.clocks
    if found is None:
        return errored("NotRead", "no clock was read.", todo="run again.")
    real = {item["metadata"]["name"] for item in facts.all("nodes")} - facts.simulated_nodes
    apart = {"this host and the API server": _least(found.server)}
    apart |= {
        f"node {name} and the API server": _least(found.nodes[name]) for name in sorted(real & found.nodes.keys())
    }
    wrong = {who: seconds for who, seconds in apart.items() if seconds > _SKEW_WARN}
    untold = sorted(real - found.nodes.keys())
    refs = [API_SERVER, *(Ref("v1", "Node", "", name) for name in sorted(real))]
    if wrong:
        make = failed if max(wrong.values()) > _SKEW_FAIL else warned
        return make(
            "ClockSkew",
            f"{'; '.join(f'{who} are {seconds:.0f} s apart' for who, seconds in wrong.items())}.",
            expected=f"at most {_SKEW_WARN:.0f} s apart",
            observed={who: f"{seconds:.1f} s" for who, seconds in wrong.items()},
            objects=[ref for ref in refs if ref == API_SERVER or f"node {ref.name} and the API server" in wrong],
            todo="set the clocks, and let chronyd keep them.",
            commands=("timedatectl", "chronyc tracking"),
        )
    if untold:
        return errored(
            "NotTold",
            f"the Leases of {', '.join(untold)} do not tell the clock of their nodes.",
            expected="a Lease in kube-node-lease for every node, renewed by its kubelet",
            objects=[ref for ref in refs if ref.name in untold],
            todo="see that their kubelets run.",
            because=("A4",),
        )
    simulated = len(facts.simulated_nodes)
    told = f" {simulated} simulated nodes have no clock of their own." if simulated else ""
    return passed(
        f"this host, the API server and {counted(len(real), 'node')} agree within {_SKEW_WARN:.0f} s.{told}",
        objects=refs,
        observed={who: f"{seconds:.1f} s" for who, seconds in apart.items()},
    )


def _least(bounds: tuple[float, float]) -> float:
    """The smallest difference that lies within the bounds; 0 where they hold none for certain."""
    low, high = bounds
    return max(low, -high, 0.0)


CHECKS = (api_server, own_permissions, clock_skew)
