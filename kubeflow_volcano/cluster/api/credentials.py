"""Server address and credentials, loaded by the client library: kubeconfig, environment or in-cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, NamedTuple

import urllib3
import yaml
from cryptography import x509
from kubernetes import client as kubernetes_client
from kubernetes import config as kubernetes_config
from kubernetes.config import kube_config
from urllib3.util.ssl_ import create_urllib3_context

from kubeflow_volcano.cluster.api.plugins import NoAnswer, limit_programs, limit_renewals
from kubeflow_volcano.exchange import Timely
from kubeflow_volcano.foreign import read_yaml
from kubeflow_volcano.problems import Problem, Unreachable
from kubeflow_volcano.redaction import without_logins

NO_CREDENTIALS = "NoCredentials"
"""Reason: there is no such kubeconfig or context, or it cannot be used."""

_CONNECTIONS = 32

limit_programs()
limit_renewals()


class Credentials(NamedTuple):
    """The library's configuration and the connection pool that uses it."""

    config: Any
    pool: urllib3.PoolManager
    expires: datetime | None = None
    """When the client certificate expires, or has expired; None without one."""

    @property
    def server(self) -> str:
        """URL of the API server, without a trailing slash."""
        host: str = self.config.host
        return host.rstrip("/")

    @property
    def endpoint(self) -> str:
        """The server and its proxy for messages, without the proxy's password."""
        proxy = self.config.proxy
        return self.server + (f" through proxy {without_logins(proxy)}" if proxy else "")

    @property
    def validity(self) -> str:
        """Half a sentence about the client certificate, for a server that rejects it; empty without one."""
        if self.expires is None:
            return ""
        if self.expires <= datetime.now(UTC):
            return f"the client certificate expired at {self.expires:%Y-%m-%d %H:%M} UTC"
        return f"the client certificate has not expired, it is valid until {self.expires:%Y-%m-%d %H:%M} UTC"

    def headers(self) -> Mapping[str, str]:
        """Authorization headers; empty where a client certificate authenticates."""
        return {setting["key"]: setting["value"] for setting in self.config.auth_settings().values()}


def load(kubeconfig: Path | None, context: str | None, origin: str) -> Credentials:
    """Load fresh credentials from their files and programs; `origin` names the source in messages.

    The default file is $KUBECONFIG or ~/.kube/config. Without file and context, in-cluster credentials come first.

    Raises:
        Unreachable: there are no usable credentials.
    """
    try:
        config = _configuration(kubeconfig, context)
        config.connection_pool_maxsize = _CONNECTIONS
        expires = _expiry(config.cert_file)
        pool = kubernetes_client.ApiClient(config).rest_client.pool_manager
        pool.pool_classes_by_scheme = {scheme: _timely(kind) for scheme, kind in pool.pool_classes_by_scheme.items()}
        if pool.proxy is None and config.host.startswith("https:"):  # a proxy's certificate needs the files, too
            _read_once(pool.connection_pool_kw)
        return Credentials(config, pool, expires)
    except NoAnswer as error:
        raise Unreachable.problem(
            f"no usable credentials ({origin}): {' '.join(str(error).split()).rstrip('.')}.",
            "credentials from the program or provider that the kubeconfig names for its user.",
            "run that program, or kubectl with this kubeconfig, in a terminal, and mend what it says or waits for, "
            "such as a sign-in or a network; then run again.",
        ) from error
    except (kubernetes_config.ConfigException, yaml.YAMLError, ValueError, OSError) as error:
        raise Unreachable(_unusable(origin, " ".join(str(error).split()))) from error
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
    ) as error:  # what the loader raises for YAML of another shape
        raise Unreachable(_unusable(origin, "the file is not a kubeconfig")) from error


@cache
def _timely(kind: type[urllib3.HTTPConnectionPool]) -> type[urllib3.HTTPConnectionPool]:
    """A kind of pools, of SOCKS proxies or others, whose answers end in time."""
    connections = type(f"Timely{kind.ConnectionCls.__name__}", (Timely, kind.ConnectionCls), {})
    return type(f"Timely{kind.__name__}", (kind,), {"ConnectionCls": connections})


def _expiry(certificate: str | None) -> datetime | None:
    """When a client certificate expires; None if there is none, or it is unusable, which `_read_once` tells."""
    if certificate:
        with contextlib.suppress(OSError, ValueError):
            return x509.load_pem_x509_certificate(Path(certificate).read_bytes()).not_valid_after_utc
    return None


def _read_once(settings: dict[str, Any]) -> None:
    """Share one TLS context among the connections of a pool; each would read and parse the files again.

    Raises:
        ValueError: a certificate or key is unusable.
    """
    authorities = {"cafile": settings.pop("ca_certs", None), "cadata": settings.pop("ca_cert_data", None)}
    certificate, key = settings.pop("cert_file", None), settings.pop("key_file", None)
    context = create_urllib3_context(cert_reqs=settings["cert_reqs"])
    try:
        if any(authorities.values()):
            context.load_verify_locations(**authorities)
        else:
            context.load_default_certs()
    except OSError as error:
        raise ValueError(f"its certificate authority is unusable ({error})") from error
    try:
        if certificate:
            context.load_cert_chain(certificate, key, password="")  # without one, OpenSSL prompts for it
    except OSError as error:
        raise ValueError(f"its client certificate or key is unusable, or the key is encrypted ({error})") from error
    settings["ssl_context"] = context


def _configuration(kubeconfig: Path | None, context: str | None) -> Any:
    config = kubernetes_client.Configuration()
    if kubeconfig is None and context is None:
        with contextlib.suppress(kubernetes_config.ConfigException):
            kubernetes_config.load_incluster_config(client_configuration=config)
            return config
    if absent := _absent(kubeconfig):
        raise kubernetes_config.ConfigException(absent)
    _require_readable(kubeconfig)
    with _complaints() as complaints:
        kubernetes_config.load_kube_config(
            config_file=str(kubeconfig) if kubeconfig else None,
            context=context,
            client_configuration=config,
            persist_config=False,
        )
    # The library writes keys to temporary files and removes them in atexit, which forked workers do not run.
    Finalize(None, kube_config._cleanup_temp_files, exitpriority=0)  # noqa: SLF001  it has no public name
    if complaints and not (config.api_key or config.cert_file):
        raise NoAnswer(" ".join(complaints))
    return config


def _require_readable(kubeconfig: Path | None) -> None:
    """Refuse what the client library, which has no limits, would not come to an end with.

    Raises:
        yaml.YAMLError: a file is no YAML, too deep, or has too many aliases.
    """
    for file in [kubeconfig] if kubeconfig else _chosen():
        if file.expanduser().is_file():
            read_yaml(file.expanduser().read_bytes())


def _chosen() -> list[Path]:
    return [Path(item).expanduser() for item in kube_config.KUBE_CONFIG_DEFAULT_LOCATION.split(os.pathsep) if item]


def _absent(kubeconfig: Path | None) -> str:
    """Which file does not exist, and what chose it; empty if at least one exists."""
    if kubeconfig:
        return "" if kubeconfig.expanduser().exists() else f"the file {kubeconfig}, which was named, does not exist"
    files = _chosen()
    if any(file.exists() for file in files):
        return ""
    names = " and ".join(map(str, files)) or "(empty)"
    by = "$KUBECONFIG names it" if "KUBECONFIG" in os.environ else "it is the default without $KUBECONFIG"
    return f"the file {names} does not exist; {by}"


@contextlib.contextmanager
def _complaints() -> Iterator[list[str]]:
    """Collect what the library logs while it loads credentials: it reports a failing exec plugin nowhere else."""
    texts: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.module == "kube_config":
                texts.append(record.getMessage())

    listener = Listener()
    logging.getLogger().addHandler(listener)
    try:
        yield texts
    finally:
        logging.getLogger().removeHandler(listener)


def _unusable(origin: str, cause: str) -> Problem:
    return Problem(
        f"no usable credentials ({origin}): {cause.rstrip('.')}.",
        "a readable kubeconfig whose context exists.",
        "name a kubeconfig that exists and can be read, and a context that it has.",
        NO_CREDENTIALS,
    )
