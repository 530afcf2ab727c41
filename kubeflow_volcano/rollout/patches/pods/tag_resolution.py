"""Registries of which Knative asks no digest, because its controller cannot reach them as the nodes do.

For each tag in a new Revision the controller asks the registry for the digest, over https with public certificate
authorities only, and a registry that does not answer keeps the Revision from starting. Names are compared whole, and
Docker Hub's is index.docker.io (pkg/reconciler/revision/resolve.go of Knative Serving 1.2 to 1.21, and
go-containerregistry). A value replaces the default, which is therefore repeated (pkg/deployment/config.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubeflow_volcano.catalog.images.mirrors import known_mirrors, load_mirror
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.images.rename.rules import Rules
from kubeflow_volcano.rollout.settings.images import MirrorSettings, RegistrySettings

_CONFIGURATION = Ref("v1", "ConfigMap", "knative-serving", "config-deployment")
_KEY = "registries-skipping-tag-resolving"
_FORMER_KEY = "registriesSkippingTagResolving"
_DEFAULT = "kind.local,ko.local,dev.local"
_DOCKER_HUB = {"docker.io": "index.docker.io"}


def skip_registries(objects: Iterable[Object], names: Sequence[str]) -> None:
    """Name these registries in Knative's configuration, if it is among the objects."""
    for obj in objects if names else ():
        if Ref.of(obj) == _CONFIGURATION:
            data = obj.setdefault("data", {})
            before = data.get(_KEY) or data.get(_FORMER_KEY) or _DEFAULT
            data[_KEY] = ",".join(dict.fromkeys((*(text.strip() for text in before.split(",")), *names)))


def skipped_registries(mirror: MirrorSettings, registry: RegistrySettings) -> tuple[str, ...]:
    """The hosts, sorted, as Knative spells them; none where images come from where their names say.

    In mode containerd these are the registries that have a mirror, which only containerd knows. In every mode it is
    one's own registry, of whose certificate the controller may know nothing, and mirrors without TLS or with an
    authority of their own.
    """
    chosen = mirror.containerd
    rules = Rules(mirror).rules
    targets = {rule.target.partition("/")[0] for rule in rules}
    hosts = {host for host in targets if chosen.ca or host in chosen.plain_http or host == registry.host}
    if mirror.mode == "containerd":
        sources = {rule.source for rule in rules}
        if "*" in sources:
            sources |= {*chosen.registries, *(host for name in known_mirrors() for host in load_mirror(name).hosts)}
        hosts |= sources - {"*"}
    return tuple(sorted(_DOCKER_HUB.get(host, host) for host in hosts))
