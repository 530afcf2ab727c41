"""Kernel modules and settings that Kubernetes, its networks and Istio require, each with its source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

OWN_FILE = "zz-kubeflow-volcano.conf"
"""File that a repair writes settings and modules to; files whose names sort later overrule it."""
ALWAYS = ("overlay", "nf_conntrack")
"""containerd's unit loads overlay itself (containerd.service); kube-proxy needs nf_conntrack."""
BRIDGE = "br_netfilter"
"""For networks with a Linux bridge (kubespray, kubernetes/node/tasks/main.yml); others do not need it."""
ISTIO = (
    "iptable_mangle",
    "iptable_nat",
    "xt_REDIRECT",
    "xt_conntrack",
    "xt_owner",
    "xt_tcpudp",
    "xt_multiport",
)
"""istio.io, Platform Requirements: pods cannot always load modules by themselves (istio#44118)."""


def modules_for(components: Iterable[str]) -> tuple[str, ...]:
    """Names of the modules that hosts of these components need."""
    istio = ISTIO if any("istio" in name for name in components) else ()
    return (*ALWAYS, BRIDGE, *istio)


@dataclass(frozen=True, slots=True)
class Setting:
    """A kernel setting that must be at least `least` or, if `exact`, equal to it; below `better` it is a warning.

    `repaired` is the value that a repair writes. `only_protected` settings matter if the kubelet may not set them.
    """

    name: str
    least: int
    why: str
    better: int = 0
    repaired: int = 0
    exact: bool = False
    fatal: bool = True
    only_protected: bool = False

    def holds(self, live: str) -> bool:
        """Whether the value is sufficient; text that is not a number is not."""
        number = _number(live)
        return number is not None and (number == self.least if self.exact else number >= self.least)

    def good(self, live: str) -> bool:
        """Whether the value is sufficient and not worth a warning."""
        return self.holds(live) and (_number(live) or 0) >= self.better

    @property
    def value(self) -> str:
        """The value that a repair writes."""
        return str(self.repaired or self.least)


SYSCTLS = (
    Setting("net.ipv4.ip_forward", 1, "pods reach nothing without it", exact=True),
    Setting(
        "net.bridge.bridge-nf-call-iptables",
        1,
        "Services do not work between pods of one node where the network is a Linux bridge (kubernetes#123464)",
        exact=True,
        fatal=False,
    ),
    Setting(
        "fs.inotify.max_user_instances",
        512,
        "kubelet, shims and containers of root share it; pods end with 'too many open files' (kubeflow/manifests#2087)",
        better=1280,
        repaired=8192,
    ),
    Setting(
        "fs.inotify.max_user_watches",
        655_360,
        "as max_user_instances; Kubeflow's own advice is 1255360",
        repaired=1_255_360,
        fatal=False,
    ),
    *(
        Setting(name, value, "the kubelet may not set it (protectKernelDefaults)", exact=True, only_protected=True)
        for name, value in (
            ("vm.overcommit_memory", 1),
            ("vm.panic_on_oom", 0),
            ("kernel.panic", 10),
            ("kernel.panic_on_oops", 1),
            ("kernel.keys.root_maxkeys", 1_000_000),
            ("kernel.keys.root_maxbytes", 25_000_000),
        )
    ),
)
"""Kubernetes' own: component-helpers/node/util/sysctl; the others as their reasons say."""


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdecimal() else None
