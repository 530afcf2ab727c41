"""Names, connections, proxies and networks as this host sees them.

Runs on hosts: Python 3.9 or later, standard library only.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import assignments, listed, read
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import Process

RESOLVE_SECONDS = 10
CONNECT_SECONDS = 3
_UNITS = ("containerd", "kubelet", "crio", "docker", "cri-docker", "isulad", "k3s", "k3s-agent", "rke2-server")
_UNIT_DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system")
_PROXY = re.compile(r"(?i)^(https?_proxy|no_proxy|all_proxy)$")
_MOST_CHARACTERS = 2000


def look_names(names: Iterable[str]) -> dict[str, Any]:
    """Addresses of each name, or why there are none."""

    def resolve(name: str) -> dict[str, Any]:
        try:
            answers = socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP)
        except (OSError, UnicodeError) as error:
            return {"addresses": [], "error": str(error)}
        return {"addresses": sorted({str(answer[4][0]) for answer in answers}), "error": ""}

    return _all_at_once(resolve, names, {"addresses": [], "error": "no answer in time"})


def look_connections(targets: Iterable[str]) -> dict[str, str]:
    """Why no connection can be made to each address and port; empty where one was made."""

    def connect(target: str) -> str:
        name, _, port = target.rpartition(":")
        try:
            socket.create_connection((name.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            return str(error) or type(error).__name__
        return ""

    return _all_at_once(connect, targets, "no answer in time")


def _all_at_once(ask: Callable[[str], Any], what: Iterable[str], late: Any) -> dict[str, Any]:
    """Answers by what was asked, each in a thread of its own; `late` for those that take too long."""
    answers = dict.fromkeys(what, late)

    def one(item: str) -> None:
        answers[item] = ask(item)

    threads = [threading.Thread(target=one, args=(item,), daemon=True) for item in list(answers)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + RESOLVE_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return dict(answers)


def look_proxies(daemons: Mapping[str, Process]) -> list[dict[str, str]]:
    """Proxy variables of running daemons and of the files that start them, without user names and passwords."""
    proxies = []
    for name, process in sorted(daemons.items()):
        proxies += [(name, f"process {process.pid}", *pair) for pair in process.environment.items()]
    for unit in _UNITS:
        for directory in _UNIT_DIRECTORIES:
            for path in [f"{directory}/{unit}.service", *listed(f"{directory}/{unit}.service.d", ".conf")]:
                proxies += [(unit, path, *pair) for pair in _unit_environment(read(path))]
    proxies += [("every login", "/etc/environment", *pair) for pair in assignments(read("/etc/environment")).items()]
    rows = [(of, where, name, _redacted(value)) for of, where, name, value in proxies if _PROXY.match(name) and value]
    return [{"of": of, "where": where, "name": name.upper(), "value": value} for of, where, name, value in rows]


def _unit_environment(text: str) -> Iterator[tuple[str, str]]:
    """Variables of Environment= and EnvironmentFile= lines."""
    for key, value in re.findall(r"(?m)^[ \t]*(Environment|EnvironmentFile)[ \t]*=[ \t]*(.*)$", text):
        if key == "EnvironmentFile":
            yield from assignments(read(value.strip().lstrip("-"))).items()
            continue
        with contextlib.suppress(ValueError):  # quotes that do not match: systemd ignores the line, too
            for word in shlex.split(value):
                yield word.partition("=")[0], word.partition("=")[2]


def _redacted(value: str) -> str:
    """An address without user and password."""
    return re.sub(r"(?:(?<=://)|^)[^/@\s]*@", "[redacted]@", value)[:_MOST_CHARACTERS]


def look_networks(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """Networks of Services and pods, from the arguments of the control plane's daemons; empty on other hosts."""
    server, manager = daemons.get("kube-apiserver"), daemons.get("kube-controller-manager")
    return {
        "services": server.option("--service-cluster-ip-range") if server else "",
        "pods": manager.option("--cluster-cidr") if manager else "",
    }
