"""Configuration files of the node: containerd, the kubelet, kube-proxy, CNI, name resolution.

Every value that differs from upstream's default says why; the reasons were found by running.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from kubeflow_volcano.rehearsal.build.recipes import NodeDifferences
from kubeflow_volcano.rehearsal.node.network import POD_RANGE, SERVICE_RANGE, VethPair

NODE_NAME = "rehearsal-1"
PKI = "/etc/kubernetes/pki"
KUBECONFIGS = "/etc/kubernetes"
CONFIGURATION = "/etc/rehearsal"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
SERVICE_ADDRESS: IPv4Address = SERVICE_RANGE[1]
DNS_ADDRESS: IPv4Address = SERVICE_RANGE[10]
REGISTRY_PORT, PLACEMENT_PORT, KWOK_PORT = 5000, 9443, 10247
_CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
_PLUGINS = "/host/bin"
_UNPACKING = {"snapshotter": "overlayfs", "discard_unpacked_layers": True}
_REGISTRY = {"config_path": "/etc/containerd/certs.d"}
_NETWORK = {
    "conf_dir": "/etc/cni/net.d",
    # containerd fills in the pod range that the kubelet reads from its Node.
    "conf_template": "/etc/cni/bridge.conflist.template",
}

_Tables = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Inputs of the configuration."""

    name: str
    veth: VethPair
    cgroup: str
    may_lower_oom_score: bool
    """Whether the host grants CAP_SYS_RESOURCE."""
    differences: NodeDifferences = field(default_factory=NodeDifferences)
    """Settings that the generation adds or replaces."""

    @property
    def address(self) -> str:
        """The node's own address."""
        return str(self.veth.node_address)

    @property
    def api_server(self) -> str:
        """URL of the API server, the same inside and outside."""
        return f"https://{self.address}:6443"


def node_files(facts: NodeFacts) -> dict[str, str]:
    """Text by path (without the leading slash) of every file that the node's `/etc` needs, keys excepted."""
    return {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
        "etc/group": "root:x:0:\n",
        "etc/hosts": f"127.0.0.1 localhost\n{facts.address} {facts.name}\n",
        "etc/hostname": f"{facts.name}\n",
        "etc/nsswitch.conf": "hosts: files dns\n",
        "etc/resolv.conf": "",  # the cluster's name server has no upstream
        "etc/os-release": 'NAME="Rehearsal node"\nID=rehearsal\nPRETTY_NAME="Rehearsal node"\n',
        "etc/containerd/config.toml": _containerd(facts),
        "etc/containerd/certs.d/_default/hosts.toml": _mirror(),
        "etc/cni/bridge.conflist.template": json.dumps(_CNI, indent=2),
        f"{CONFIGURATION[1:]}/kubelet.json": json.dumps(_kubelet(facts), indent=2),
        f"{CONFIGURATION[1:]}/kube-proxy.json": json.dumps(_kube_proxy(), indent=2),
    }


def _containerd(facts: NodeFacts) -> str:
    """Configuration in the format of the generation's containerd: docs/cri/config.md of containerd."""
    tables: _Tables = {
        "": {
            "version": facts.differences.containerd,
            "root": "/var/lib/containerd",
            "state": "/run/containerd",
            "oom_score": 0,  # the default is below 0, which requires CAP_SYS_RESOURCE
            "disabled_plugins": ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"],
        },
        "grpc": {"address": _CONTAINERD_SOCKET},
        **_CRI[facts.differences.containerd](facts),
    }
    return "\n".join(_toml(tables))


def _cri(facts: NodeFacts) -> _Tables:
    """Tables of the two CRI plugins of containerd 2."""
    images, runtime = "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"
    return {
        f'plugins."{images}"': dict(_UNPACKING),
        f'plugins."{images}".pinned_images': {"sandbox": PAUSE_IMAGE},
        f'plugins."{images}".registry': dict(_REGISTRY),
        f'plugins."{runtime}"': _score(facts),
        f'plugins."{runtime}".cni': {"bin_dirs": [_PLUGINS], **_NETWORK},
        **_runc(runtime),
    }


def _cri_before_2(facts: NodeFacts) -> _Tables:
    """Tables of the CRI plugin of containerd 1."""
    plugin = "io.containerd.grpc.v1.cri"
    return {
        f'plugins."{plugin}"': {"sandbox_image": PAUSE_IMAGE, **_score(facts)},
        f'plugins."{plugin}".containerd': dict(_UNPACKING),
        f'plugins."{plugin}".registry': dict(_REGISTRY),
        f'plugins."{plugin}".cni': {"bin_dir": _PLUGINS, **_NETWORK},
        **_runc(plugin),
    }


def _score(facts: NodeFacts) -> dict[str, Any]:
    """Without CAP_SYS_RESOURCE every sandbox would fail when it lowers its score."""
    return {"restrict_oom_score_adj": not facts.may_lower_oom_score}


def _runc(plugin: str) -> _Tables:
    return {
        f'plugins."{plugin}".containerd.runtimes.runc': {"runtime_type": "io.containerd.runc.v2"},
        f'plugins."{plugin}".containerd.runtimes.runc.options': {
            "BinaryName": f"{_PLUGINS}/runc",
            "SystemdCgroup": False,
        },
    }


def _toml(tables: _Tables) -> Iterator[str]:
    """Strings, integers, booleans and lists of strings have the same syntax in TOML and JSON."""
    for name, values in tables.items():
        if name:
            yield f"\n[{name}]"
        for key, value in values.items():
            yield f"{key} = {json.dumps(value)}"
    yield ""


def _mirror() -> str:
    """Every image is pulled from the local registry; containerd sends the original registry's name in `?ns=`."""
    registry = f"http://127.0.0.1:{REGISTRY_PORT}"
    return f'server = "{registry}"\n\n[host."{registry}"]\n  capabilities = ["pull", "resolve"]\n'


_CRI = {2: _cri_before_2, 3: _cri}

_CNI = {
    "cniVersion": "1.0.0",
    "name": "rehearsal",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "hairpinMode": True,
            "ipMasq": False,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": "{{.PodCIDR}}"}]],
                "routes": [{"dst": "0.0.0.0/0"}],
                "dataDir": "/run/cni-ipam",  # a tmpfs: ends with the node and its pods
            },
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}


def _kubelet(facts: NodeFacts) -> dict[str, Any]:
    configuration = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{facts.cgroup}",  # pods stay below the cluster's own group, so its removal is exact
        "containerRuntimeEndpoint": f"unix://{_CONTAINERD_SOCKET}",
        "clusterDNS": [str(DNS_ADDRESS)],
        "clusterDomain": "cluster.local",
        "resolvConf": "/etc/resolv.conf",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{PKI}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{PKI}/kubelet-serving.crt",
        "tlsPrivateKeyFile": f"{PKI}/kubelet-serving.key",
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        # The disk is the host's: the default, a share of it, is meaningless for this node.
        "evictionHard": {
            "memory.available": "200Mi",
            "nodefs.available": "500Mi",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "500Mi",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "serializeImagePulls": False,
        "nodeStatusUpdateFrequency": "5s",
        "syncFrequency": "10s",
        "volumePluginDir": "/var/lib/kubelet/volumeplugins",
        "oomScoreAdj": 0,
        "registerWithTaints": [],
        **facts.differences.kubelet,
    }
    return {key: value for key, value in configuration.items() if value is not None}


def _kube_proxy() -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",  # nftables needs a feature gate before 1.31
        "clusterCIDR": str(POD_RANGE),
        "bindAddress": "0.0.0.0",  # noqa: S104  inside the node's own network namespace
        "metricsBindAddress": "127.0.0.1:10249",
        "clientConnection": {"kubeconfig": f"{KUBECONFIGS}/proxy.kubeconfig"},
        # The connection tracking table is the host's and must not change.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "oomScoreAdj": 0,
    }
