"""Registries that require a sign-in: `image_mirror_credentials`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kubeflow_volcano.catalog.images.mirrors import load_mirror
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.images import MirrorSettings

_DOCKER_HUB = "docker.io"
_KEY_OF_DOCKER_HUB = "https://index.docker.io/v1/"
"""What `docker login` writes, and the kubelet and skopeo look for."""


@dataclass(frozen=True, slots=True)
class RegistryLogin:
    """User and password at a registry, which is host or host:port as in names of images.

    `profiles`: whether the namespaces of profiles get it, where their users may read it.
    """

    registry: str
    username: str
    password: str = field(repr=False)
    profiles: bool = False

    @property
    def authorization(self) -> str:
        """Base64 of user:password, as in the header of a request."""
        return base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


def authorizations(logins: Iterable[RegistryLogin]) -> dict[str, str]:
    """Base64 of user:password by registry."""
    return {item.registry: item.authorization for item in logins}


def docker_config(authorized: Mapping[str, str]) -> str:
    """The text of a Docker configuration with base64 of user:password by registry; equal logins give equal texts."""
    auths: dict[str, dict[str, str]] = {}
    for host, text in authorized.items():
        username, _, password = base64.b64decode(text).decode().partition(":")
        key = _KEY_OF_DOCKER_HUB if host == _DOCKER_HUB else host
        auths[key] = {"username": username, "password": password, "auth": text}
    return json.dumps({"auths": auths}, sort_keys=True)


def host_of(key: str) -> str:
    """The registry that a key of a Docker configuration is about: keys may be addresses, or have a path.

    Docker Hub is docker.io, as in names of images.
    """
    host = key.removeprefix("https://").removeprefix("http://").partition("/")[0]
    return _DOCKER_HUB if host in {"index.docker.io", "registry-1.docker.io"} else host


def validate_credentials(logins: Iterable[RegistryLogin], mirror: MirrorSettings) -> Iterator[Problem]:
    """Problems of logins: two for one registry, and those that containerd would not send, or send to a mirror.

    The kubelet chooses a login by the name of the image. In mode containerd that is not the mirror's name, and
    containerd passes the login of a registry to each mirror of it.
    """
    seen: set[str] = set()
    for item in logins:
        if item.registry in seen:
            yield Problem(
                f"image_mirror_credentials has several entries for {item.registry}.",
                "one login for each registry: a request has only one.",
                "remove all but one, whose user may pull all images.",
            )
        seen.add(item.registry)
        if ":" in item.username:
            yield Problem(
                f"image_mirror_credentials: the username for {item.registry} has a colon.",
                "a username without one, which separates it from the password in requests.",
                "correct the username.",
            )
    if mirror.mode == "containerd":
        for host in sorted(seen):
            if host in _mirrors(mirror) or _is_mirrored(host, mirror):
                yield Problem(
                    f"image_mirror_credentials has {host}, and image_mirror_mode is containerd.",
                    "names of images in which the registry with the sign-in stands: the kubelet chooses logins by "
                    "them, and containerd passes the login of a registry to its mirrors.",
                    "set image_mirror_mode: rewrite, or registry with image_mirror_registry; or use a mirror that "
                    "needs no sign-in, and remove the entry.",
                )


def _mirrors(mirror: MirrorSettings) -> set[str]:
    """Hosts that containerd asks in place of registries."""
    hosts = {rule.target.partition("/")[0] for rule in mirror.rules}
    if mirror.preset:
        known = load_mirror(mirror.preset)
        hosts |= {known.prefix, *filter(None, known.hosts.values())}
    return hosts


def _is_mirrored(host: str, mirror: MirrorSettings) -> bool:
    sources = {rule.source.partition("/")[0] for rule in mirror.rules}
    preset = load_mirror(mirror.preset).hosts if mirror.preset else {}
    return host in sources or "*" in sources or host in preset
