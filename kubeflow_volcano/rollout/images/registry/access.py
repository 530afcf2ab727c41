"""How registries are reached from here: trusted certificates, TLS or plain HTTP, credentials."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import ssl
import tempfile
import urllib.error
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from kubeflow_volcano.exchange import opener
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.images.registry.client import Registry, scheme_of
from kubeflow_volcano.rollout.images.registry.rate import RateLimit
from kubeflow_volcano.rollout.settings.pods.credentials import authorizations, docker_config, host_of
from kubeflow_volcano.rollout.settings.settings import Settings

_SECONDS = 15.0


def own_registry(settings: Settings, timeout_seconds: float = _SECONDS) -> Registry:
    """A client of one's own registry, without a rate limit.

    Raises:
        InvalidInput: the certificate authority or the credentials cannot be read.
    """
    registry = settings.registry
    context = _trusting(registry.ca, "image_mirror_registry_ca")
    scheme: Callable[[str], str] = scheme_of
    if registry.insecure:
        context = ssl._create_unverified_context()  # noqa: S323, SLF001  the inventory says so
        scheme = cache(_plain_or_not)
    return Registry(None, scheme, timeout_seconds, context, credentials(settings))


def mirror_registry(settings: Settings, rate: RateLimit, timeout_seconds: float = _SECONDS) -> Registry:
    """A client of mirrors and upstream registries, within their rate limit.

    Raises:
        InvalidInput: as for own_registry.
    """
    containerd = settings.mirror.containerd
    context = _trusting(containerd.ca, "image_mirror_containerd_ca")

    def scheme(host: str) -> str:
        return "http" if host in containerd.plain_http else scheme_of(host)

    return Registry(rate, scheme, timeout_seconds, context, credentials(settings))


def credentials(settings: Settings) -> Mapping[str, str]:
    """Base64 of user:password by host, from the inventory and the file that it or $REGISTRY_AUTH_FILE names.

    A login of the inventory comes before one of the file.

    Raises:
        InvalidInput: the file cannot be used.
    """
    named = settings.registry.authfile
    path = named or (Path(text) if (text := os.environ.get("REGISTRY_AUTH_FILE")) else None)
    if path is None:
        return authorizations(settings.credentials)
    try:
        auths = read_json(path.read_text("utf-8")).get("auths", {})
        logins = {host_of(key): entry["auth"] for key, entry in auths.items() if "auth" in entry}
        for text in logins.values():
            base64.b64decode(text).decode()
    except (OSError, ValueError, AttributeError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has another content"
        raise InvalidInput.problem(
            f"{'image_mirror_registry_authfile' if named else 'REGISTRY_AUTH_FILE'} is {path}: {why}.",
            "a file with credentials, as skopeo login --authfile writes it.",
            f"write it: skopeo login --authfile {path} HOST.",
        ) from error
    return logins | authorizations(settings.credentials)


@contextlib.contextmanager
def authfile(settings: Settings) -> Iterator[Path | None]:
    """A file with all credentials for skopeo, readable by this user only and removed afterwards.

    Without logins in the inventory it is the file that this names; None leaves the choice to skopeo.

    Raises:
        InvalidInput: the named file cannot be used.
    """
    if not settings.credentials:
        yield settings.registry.authfile
        return
    with tempfile.TemporaryDirectory(prefix="kubeflow-volcano-login-") as place:
        path = Path(place, "auth.json")
        write_file(path, docker_config(credentials(settings)), 0o600)
        yield path


def authority(ca: Path, cache: Path) -> Path:
    """A directory below `cache` with nothing but this certificate, as skopeo requires (--src-cert-dir)."""
    content = ca.read_bytes()
    home = cache / "authorities" / hashlib.sha256(content).hexdigest()[:16]
    write_file(home / "ca.crt", content)
    return home


def _trusting(ca: Path | None, variable: str) -> ssl.SSLContext | None:
    if ca is None:
        return None
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or "it holds no certificate" if not isinstance(error, ssl.SSLError) else "no certificate"
        raise InvalidInput.problem(
            f"{variable} is {ca}: {why}.",
            "a file with a certificate in PEM.",
            f"correct {variable}.",
        ) from error
    return context


def _plain_or_not(host: str) -> str:
    """`http` for a host that does not speak TLS."""
    context = ssl._create_unverified_context()  # noqa: S323, SLF001  the inventory says so; nothing is read
    try:
        opener(context).open(f"https://{host}/v2/", timeout=_SECONDS).close()
    except urllib.error.URLError as error:
        return "http" if isinstance(error.reason, ssl.SSLError) else "https"
    except OSError:
        return "https"
    return "https"
