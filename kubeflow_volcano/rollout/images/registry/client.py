"""Whether a registry has a manifest, and what is in it: the distribution API, with a token if it needs one."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode

from kubeflow_volcano.catalog.images.limits import Meaning, Tally, meaning_of_status
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.exchange import is_same_place, opener
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.retries import retry_after_seconds
from kubeflow_volcano.rollout.images.registry.rate import RateLimit

_SECONDS = 15.0
_DOCKER_HUB = "registry-1.docker.io"
"""Where the registry that images call docker.io answers."""
_DIGEST = re.compile(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[0-9a-zA-Z=_-]{32,}")
"""OCI's image specification, descriptor.md."""
_MAX_TOKEN_BYTES = 1 << 16
_MAX_PART_BYTES = 1 << 20
"""Of a manifest or configuration; those of images have some kB."""
_ACCEPT = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Status of the last answer; 0 and an `error` if there was none. `retry_after` in seconds, 0 without that header.

    `digest` is that of the manifest, empty where the registry does not send it.
    """

    status: int
    retry_after: float = 0.0
    error: str = ""
    untrusted: bool = False
    digest: str = ""

    @property
    def meaning(self) -> Meaning:
        """What it means for the next request."""
        return Meaning.UNTRUSTED if self.untrusted else meaning_of_status(self.status)

    @property
    def why(self) -> str:
        """The error, else the status."""
        return self.error or str(self.status)


class Limits:
    """One registry's rate limit and tally. Without a rate limit it is one's own, whose refusals are not counted."""

    def __init__(self, rate: RateLimit | None, most_refusals: int, progress: Progress) -> None:
        self.rate = rate
        self._tally = Tally(most_refusals)
        self._progress = progress
        self._lock = threading.Lock()

    @property
    def stopped(self) -> str:
        """Why to request nothing more, empty to go on."""
        return self._tally.stopped

    @property
    def cause(self) -> Meaning:
        """Meaning of the answer that ended it."""
        return self._tally.cause

    @property
    def refusals(self) -> int:
        """How many answers count towards a ban."""
        return self._tally.refusals

    def ask(self, look: Callable[[], Answer]) -> Answer:
        """The answer to a request, which is repeated once after a 429; the rule is in catalog/images/limits.py."""
        answer = look()
        seconds = self.add(answer.meaning, answer.why, retry_after=answer.retry_after)
        if seconds and self.rate and not self.stopped:
            self._progress(f"the mirror answers 429, too many requests; going on in {seconds:.0f} s")
            self.rate.slow_down(seconds)
            answer = look()
            self.add(answer.meaning, answer.why, repeated=True)
        return answer

    def add(self, meaning: Meaning, why: str, *, retry_after: float = 0.0, repeated: bool = False) -> float:
        """Count an answer; returns after how many seconds to repeat its request, 0 for not at all."""
        if meaning.is_counted and self.rate is None:
            meaning = Meaning.FAILED
        with self._lock:
            return self._tally.add(meaning, why, retry_after=retry_after, repeated=repeated)


def scheme_of(host: str) -> str:
    """`http` for this machine itself, as in container tools; `https` for all other hosts."""
    name = host.rpartition(":")[0] if re.search(r":[0-9]+$", host) else host
    try:
        return "http" if ipaddress.ip_address(name).is_loopback else "https"
    except ValueError:
        return "http" if name == "localhost" else "https"


class Registry:
    """A client of registries, for several threads; tokens are kept by repository until the registry refuses them.

    `rate` limits its requests; None does not. `context` has the trusted certificates, `credentials` base64 of
    user:password by host.
    """

    def __init__(
        self,
        rate: RateLimit | None,
        scheme: Callable[[str], str] = scheme_of,
        timeout_seconds: float = _SECONDS,
        context: ssl.SSLContext | None = None,
        credentials: Mapping[str, str] | None = None,
    ) -> None:
        self._rate = rate
        self._scheme = scheme
        self._timeout = timeout_seconds
        self._opener = opener(context)
        self._credentials = credentials or {}
        self._challenges: dict[str, Mapping[str, str]] = {}
        self._tokens: dict[str, str] = {}
        self._denied: set[str] = set()
        """Repositories that refused a new token: another one would not help."""
        self._lock = threading.Lock()

    def head(self, image: ImageName) -> Answer:
        """What the image's registry answers to a HEAD request for its manifest."""
        return self._signed_in(image, "HEAD", f"manifests/{image.version}")[0]

    def read(self, image: ImageName, blob: str = "") -> tuple[Answer, bytes]:
        """The manifest of an image, or a blob of its repository by digest; at most the first MiB."""
        return self._signed_in(image, "GET", f"blobs/{blob}" if blob else f"manifests/{image.version}")

    def _signed_in(self, image: ImageName, method: str, place: str) -> tuple[Answer, bytes]:
        """The answer to a request below the image's repository, with a token if the registry needs one."""
        with self._lock:
            challenge = self._challenges.get(image.host)
            is_new = bool(challenge) and image.repository not in self._tokens
        if challenge and is_new:
            failed = self._fetch_token(image, challenge)
            if failed:
                return failed, b""
        answer, headers, body = self._part(image, method, place)
        asked = _challenge(headers) if answer.status == HTTPStatus.UNAUTHORIZED else None
        if asked is None or image.repository in self._denied:
            return answer, body
        if not is_new:  # the first request, or a token that has expired
            with self._lock:
                self._challenges[image.host] = asked
            failed = self._fetch_token(image, asked)
            answer, _, body = (failed, {}, b"") if failed else self._part(image, method, place)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            with self._lock:
                self._denied.add(image.repository)
        return answer, body

    def _part(self, image: ImageName, method: str, place: str) -> tuple[Answer, Mapping[str, str], bytes]:
        host = _DOCKER_HUB if image.host == "docker.io" else image.host
        address = f"{self._scheme(host)}://{host}/v2/{image.path}/{place}"
        headers = {"Accept": _ACCEPT}
        if token := self._tokens.get(image.repository):
            headers["Authorization"] = f"Bearer {token}"
        elif image.host in self._credentials:
            headers["Authorization"] = f"Basic {self._credentials[image.host]}"
        answer, received, body = self._ask(address, method, headers, _MAX_PART_BYTES)
        said = next((value for name, value in received.items() if name.lower() == "docker-content-digest"), "")
        is_one = answer.status == HTTPStatus.OK and _DIGEST.fullmatch(said)
        return replace(answer, digest=said if is_one else ""), received, body

    def _fetch_token(self, image: ImageName, challenge: Mapping[str, str]) -> Answer | None:
        """Keep a token for the image's repository; the answer of the token service if it gave none."""
        wanted = {"scope": f"repository:{image.path}:pull"}
        if "service" in challenge:
            wanted["service"] = challenge["service"]
        known = self._credentials.get(image.host)
        if self._scheme(image.host) == "https" and not challenge["realm"].startswith("https:"):
            known = None  # the login would be sent in clear
        headers = {"Authorization": f"Basic {known}"} if known else {}
        answer, _, body = self._ask(f"{challenge['realm']}?{urlencode(wanted)}", "GET", headers)
        if answer.status != HTTPStatus.OK:
            return answer
        try:
            data = read_json(body)
            token = str(data.get("token") or data["access_token"])
        except (ValueError, AttributeError, KeyError):
            return Answer(0, error="the answer of its token service has no token")
        with self._lock:
            self._tokens[image.repository] = token
        return None

    def _ask(
        self, address: str, method: str, headers: Mapping[str, str], most: int = _MAX_TOKEN_BYTES
    ) -> tuple[Answer, Mapping[str, str], bytes]:
        if self._rate and not self._rate.acquire():
            return Answer(0, error="interrupted"), {}, b""
        if not address.startswith(("http://", "https://")):
            return Answer(0, error="the URL of its token service is not http or https"), {}, b""
        try:
            request = urllib.request.Request(  # noqa: S310  the scheme is checked above
                address, method=method, headers={"User-Agent": "kubeflow-volcano", **headers}
            )
            with self._opener.open(request, timeout=self._timeout) as reply:
                return Answer(reply.status), dict(reply.headers), reply.read(most)
        except urllib.error.HTTPError as error:
            with contextlib.closing(error):  # that of a redirect without end is closed already
                # Whom another host wants the login sent to is not for it to say.
                own = is_same_place(address, error.url or "")
                pause = retry_after_seconds(error.headers.get("Retry-After")) or 0.0
                return Answer(error.code, pause), dict(error.headers) if own else {}, b""
        except (OSError, HTTPException, ValueError) as error:  # ValueError: an address that is none
            reason = getattr(error, "reason", error)
            untrusted = isinstance(reason, ssl.SSLCertVerificationError)
            return Answer(0, error=str(reason) or type(reason).__name__, untrusted=untrusted), {}, b""


def _challenge(headers: Mapping[str, str]) -> Mapping[str, str] | None:
    text = next((value for name, value in headers.items() if name.lower() == "www-authenticate"), "")
    scheme, _, rest = text.partition(" ")
    challenge: dict[str, Any] = dict(re.findall(r'\b(\w+)="([^"]*)"', rest))
    return challenge if scheme.lower() == "bearer" and challenge.get("realm") else None
