"""Network of hosts: names of mirrors, and proxies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.hosts.facts import HostFacts, Name, Proxy
from kubeflow_volcano.hosts.network import is_exempt
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.inventory import Inventory
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, skipped
from kubeflow_volcano.validators.hosts.judging import Finding, failing, inventory_of, judge_hosts, passing, warning

_SERVICES = "kubernetes.default.svc"
_CALLS_WEBHOOKS = "kube-apiserver"
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})


@check("P23", "mirror-names", severity=Severity.BLOCKER)
def mirror_names(facts: Facts) -> Outcome:
    """Every host can resolve the names of the image mirrors.

    A node that cannot resolve its mirror waits for a timeout with each image. Correct image_mirror_rules or the host's
    /etc/resolv.conf, or add the name to /etc/hosts.
    """
    inventory = inventory_of(facts)
    if not inventory.mirror_names:
        return skipped("NotExpected", "no mirror is configured (image_mirror_mode: none), or none has a name.")
    return judge_hosts(
        facts,
        lambda _, found: _names(found, inventory.mirror_names),
        expected=f"addresses for {', '.join(inventory.mirror_names)}",
        holds="every mirror's name resolves",
    )


def _names(facts: HostFacts, mirrors: tuple[str, ...]) -> Iterator[Finding]:
    names: Mapping[str, Name] = facts.need("names")
    for name in mirrors:
        answer = names.get(name)
        if answer is None or not answer.addresses:
            why = answer.error if answer else "it was not looked up"
            yield failing(
                "NameNotFound",
                f"{name} does not resolve ({why})",
                todo="correct the name, or the resolver of the host.",
                commands=(f"getent hosts {name}",),
            )
        else:
            yield passing(f"{name} resolves", answer.addresses[0])


@check("P24", "proxies", severity=Severity.MAJOR)
def proxies(facts: Facts) -> Outcome:
    """NO_PROXY exempts the cluster's own addresses wherever a proxy is configured.

    It must have the networks of Services and pods and `.svc`: otherwise the API server calls webhooks through the
    proxy, which fails every apply. kubeadm copies the variables of its shell into the control plane's manifests.
    """
    inventory = inventory_of(facts)
    return judge_hosts(
        facts,
        lambda _, found: _proxies(inventory, found),
        expected=f"NO_PROXY with {', '.join(_exempt(inventory))}",
        holds="no proxy intercepts traffic within the cluster",
    )


def _exempt(inventory: Inventory) -> tuple[str, ...]:
    return (*inventory.cidrs("services"), *inventory.cidrs("pods"), ".svc")


def _proxies(inventory: Inventory, facts: HostFacts) -> Iterator[Finding]:
    proxies: tuple[Proxy, ...] = facts.need("proxies")
    users = sorted({item.of for item in proxies if item.name in _PROXIES})
    if not users:
        yield passing("no proxy")
    for user in users:
        own = [item for item in proxies if item.of == user]
        running = [item for item in own if item.where.startswith("process ")]
        current = running or own  # the environment of the running process, else of the next one
        given = ",".join(item.value for item in current if item.name == "NO_PROXY")
        missing = [item for item in _exempt(inventory) if not is_exempt(given, _SERVICES if item == ".svc" else item)]
        if missing:
            through = next(item for item in own if item.name in _PROXIES)
            make = failing if user == _CALLS_WEBHOOKS else warning
            yield make(
                "ProxyInBetween",
                f"{user} uses the proxy {through.value}, and its NO_PROXY lacks {', '.join(missing)}",
                detail=through.where,
                todo=f"add {','.join(missing)} to NO_PROXY where it is set, and restart {user}.",
            )
        else:
            yield passing(f"{user} uses no proxy within the cluster")
