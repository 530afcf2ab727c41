"""Variables of the proxy in the containers that reach addresses outside of the cluster (catalog/outgoing.yaml).

Programs read them in upper or lower case, so both are set. What is inside of the cluster is excepted: programs of Go
compare suffixes of names and networks of addresses, those of Python and curl mostly the names.
"""

from __future__ import annotations

import copy
import ipaddress
from collections.abc import Iterable, Mapping

from kubeflow_volcano.catalog.outgoing import outgoing
from kubeflow_volcano.cluster.objects import Object, mappings_in
from kubeflow_volcano.rollout.settings.pods.proxy import ProxySettings

_ALWAYS = ("localhost", "127.0.0.1", "::1", ".svc", ".cluster.local")


def with_proxy(
    component: str, objects: Iterable[Object], proxy: ProxySettings, inside: Iterable[str]
) -> tuple[Object, ...]:
    """The objects of a component with the variables in the containers that need them, changed on copies.

    `inside` are addresses, networks and domains of the cluster.
    kubeflow_patches are merged into the result, so they win.
    """
    patched = tuple(objects)
    if not proxy:
        return patched
    variables = _variables(patched, proxy, inside)
    return tuple(_with_variables(obj, _names(component, obj), variables) for obj in patched)


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


def _with_variables(obj: Object, names: set[str], variables: Mapping[str, str]) -> Object:
    if not names:
        return obj
    changed = copy.deepcopy(obj)
    for container in mappings_in(changed):
        if container.get("name") in names and "image" in container:
            _set(container, variables)
    return changed


def _set(container: Object, variables: Mapping[str, str]) -> None:
    others = [item for item in container.get("env") or () if item["name"] not in variables]
    container["env"] = [*others, *({"name": name, "value": value} for name, value in variables.items())]


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
