"""The proxy to addresses outside of the cluster: `kubeflow_proxy`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubeflow_volcano.problems import Problem


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """The proxy for http and for https addresses, empty for none; `no_proxy` are destinations that need none."""

    http: str = ""
    https: str = ""
    no_proxy: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a proxy."""
        return bool(self.http or self.https)


def validate_proxy(proxy: ProxySettings) -> Iterator[Problem]:
    """Exceptions without a proxy, which nothing reads."""
    if proxy.no_proxy and not proxy:
        yield Problem(
            "kubeflow_proxy has no_proxy, and neither http nor https.",
            "the proxy from which these are excepted.",
            "set kubeflow_proxy.https, or remove kubeflow_proxy.",
        )
