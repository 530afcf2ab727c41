"""Family P, part nine: names and proxies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.hosts.facts import HostFacts, Name, Proxy
from kubeflow_volcano.hosts.network import is_exempt
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.inventory import Inventory
from validators.core.outcome import Outcome, Severity, skipped
from validators.hosts.each import Finding, asked, bad, each, good, worse

__all__ = ["CHECKS"]

_SERVICES = "kubernetes.default.svc"
_CALLS_WEBHOOKS = "kube-apiserver"
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})


@check("P23", "mirror-names", severity=Severity.BLOCKER)
def mirror_names(facts: Facts) -> Outcome:
    """Every host finds the names of the image mirrors.

    A node that cannot resolve its mirror waits for each image until it gives up. Correct image_mirror_rules, the
    host's /etc/resolv.conf, or add the name to /etc/hosts.
    """
    inventory = asked(facts)
    if not inventory.mirror_names:
        return skipped("NotExpected", "no mirror is configured (image_mirror_mode: none), or none has a name.")
    return each(
        facts,
        lambda _, found: _names(found, inventory.mirror_names),
        expected=f"addresses for {', '.join(inventory.mirror_names)}",
        holds="every mirror's name is found",
    )


def _names(facts: HostFacts, wanted: tuple[str, ...]) -> Iterator[Finding]:
    found: Mapping[str, Name] = facts.need("names")
    for name in wanted:
        answer = found.get(name)
        if answer is None or not answer.addresses:
            why = answer.error if answer else "not asked"
            yield bad(
                "NameNotFound",
                f"{name} is not found ({why})",
                todo="correct the name, or the resolver of the host.",
                commands=(f"getent hosts {name}",),
            )
        else:
            yield good(f"{name} is found", answer.addresses[0])


@check("P24", "proxies", severity=Severity.MAJOR)
def proxies(facts: Facts) -> Outcome:
    """Whoever uses a proxy goes past it within the cluster.

    NO_PROXY must hold the networks of Services and pods and `.svc`: the API server would call webhooks through the
    proxy, which fails every apply. kubeadm copies the variables of its shell into the control plane's manifests.
    """
    inventory = asked(facts)
    return each(
        facts,
        lambda _, found: _proxies(inventory, found),
        expected=f"NO_PROXY with {', '.join(_wanted(inventory))}",
        holds="no proxy is in the way",
    )


def _wanted(inventory: Inventory) -> tuple[str, ...]:
    return (*inventory.cidrs("services"), *inventory.cidrs("pods"), ".svc")


def _proxies(inventory: Inventory, facts: HostFacts) -> Iterator[Finding]:
    found: tuple[Proxy, ...] = facts.need("proxies")
    users = sorted({item.of for item in found if item.name in _PROXIES})
    if not users:
        yield good("no proxy")
    for user in users:
        own = [item for item in found if item.of == user]
        process = [item for item in own if item.where.startswith("process ")]
        counts = process or own  # what a daemon was started with, else what it will be
        spared = ",".join(item.value for item in counts if item.name == "NO_PROXY")
        missing = [item for item in _wanted(inventory) if not is_exempt(spared, _SERVICES if item == ".svc" else item)]
        if missing:
            through = next(item for item in own if item.name in _PROXIES)
            make = bad if user == _CALLS_WEBHOOKS else worse
            yield make(
                "ProxyInBetween",
                f"{user} uses the proxy {through.value}, and its NO_PROXY lacks {', '.join(missing)}",
                detail=through.where,
                todo=f"add {','.join(missing)} to NO_PROXY where it is set, and restart {user}.",
            )
        else:
            yield good(f"{user} goes past its proxy within the cluster")


CHECKS = (mirror_names, proxies)
