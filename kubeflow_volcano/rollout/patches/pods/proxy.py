"""Variables of the proxy in the containers that reach addresses outside of the cluster (catalog/outgoing.yaml).

Programs read them in upper or lower case, so both are set. What is inside of the cluster is excepted: programs of Go
compare suffixes of names and networks of addresses, those of Python and curl mostly the names.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence

from kubeflow_volcano.catalog.outgoing import outgoing
from kubeflow_volcano.cluster.objects import Object, mappings_in
from kubeflow_volcano.cluster.pods.environment import entries, set_environment
from kubeflow_volcano.rollout.settings.pods.proxy import ProxySettings

_ALWAYS = ("localhost", "127.0.0.1", "::1", ".svc", ".cluster.local")


def set_proxy(objects: Sequence[Object], component: str, proxy: ProxySettings, inside: Iterable[str]) -> None:
    """Give the containers of a component that need them the variables.

    `inside` are addresses, networks and domains of the cluster.
    """
    variables = entries(_variables(objects, proxy, inside)) if proxy else []
    for obj in objects if proxy else ():
        names = _names(component, obj)
        for container in mappings_in(obj) if names else ():
            if container.get("name") in names and "image" in container:
                set_environment(container, variables)


def exceptions(objects: Iterable[Object], proxy: ProxySettings, inside: Iterable[str]) -> list[str]:
    """Destinations without the proxy: the cluster's, Services of the component by their short names, the inventory's.

    Addresses within a network of the list are left out, so that a new node in a network that the inventory names
    changes no pod.
    """
    services = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Service"}
    names = dict.fromkeys((*_ALWAYS, *inside, *sorted(services), *proxy.no_proxy))
    networks = [network for text in names if "/" in text and (network := _network(text))]
    return [text for text in names if "/" in text or not _is_within(text, networks)]


def _variables(objects: Iterable[Object], proxy: ProxySettings, inside: Iterable[str]) -> Mapping[str, str]:
    without = ",".join(exceptions(objects, proxy, inside))
    values = {"HTTP_PROXY": proxy.http, "HTTPS_PROXY": proxy.https, "NO_PROXY": without}
    return {spelt: value for name, value in values.items() if value for spelt in (name, name.lower())}


def _names(component: str, obj: Object) -> set[str]:
    """Names of its containers that reach outwards."""
    about = (item for item in outgoing() if item.is_about(component, obj["kind"], obj["metadata"]["name"]))
    return {name for item in about for name in item.containers}


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _is_within(text: str, networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return any(address in network for network in networks)
