"""Cookies that fit the way in. Pure.

Upstream's sign-in is relative to whatever address the browser uses: oauth2-proxy (`login_url`, `redirect_url` with
`relative_redirect_url`), the OIDC AuthService (`OIDC_AUTH_URL`, `REDIRECT_URL`) and the redirect URI of Dex's client.
Issuer and keys are fetched inside the cluster. So each host works without a change of these, unless connectors need
another issuer (rollout/people/issuer.py), and only the Secure flag of cookies depends on whether browsers use https.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.environment import entries, set_environment
from kubeflow_volcano.rollout.settings.access import AccessSettings

_APPLICATION = "APP_SECURE_COOKIES"
"""Read by the backends of the dashboard's applications. Upstream's value is true; in 1.6.1 it is a placeholder that
nothing fills."""

_SESSION = "OAUTH2_PROXY_COOKIE_SECURE"
"""Upstream's value is false."""


def application_cookies(objects: list[Object], access: AccessSettings) -> None:
    """Give the cookies of an application the Secure flag if browsers use https, and none if the inventory says so."""
    if access.encrypted or not access.secure_cookies:
        for container in _containers(objects):
            set_environment(container, entries({_APPLICATION: "true" if access.secure_cookies else "false"}))


def session_cookie(objects: list[Object], access: AccessSettings) -> None:
    """Give the session cookie of oauth2-proxy the Secure flag, if browsers use https."""
    if access.encrypted and access.secure_cookies:
        for container in _containers(objects):
            set_environment(container, entries({_SESSION: "true"}))


def _containers(objects: Iterable[Object]) -> Iterator[Object]:
    """The first container of each Deployment, which is upstream's program."""
    for obj in objects:
        if obj["kind"] == "Deployment":
            yield obj["spec"]["template"]["spec"]["containers"][0]
