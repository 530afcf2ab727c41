"""The mirror is asked once for each image, in its own time, and left alone when it refuses; by local servers."""

from __future__ import annotations

import datetime as dt
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rollout.images.registry.client import Answer, Registry, scheme_of
from kubeflow_volcano.rollout.images.registry.probe import Probe, ask, ask_mirror
from kubeflow_volcano.rollout.images.registry.rate import RateLimit
from kubeflow_volcano.rollout.images.rename.rewrite import ImageUse, rewrite
from kubeflow_volcano.rollout.images.report.entry import Entry
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport, report
from kubeflow_volcano.rollout.images.report.judge import Judgement
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples.certificates import named, pem, signer
from tests.serving import Handler, listen, serving
from tests.unit.rollout.images.conftest import Objects
from tests.waiting import Clock

MOST_REFUSALS = 10


def probe(names: Iterable[str], registry: Registry, rate: RateLimit, parallel: int, progress: Progress) -> Probe:
    return ask(dict.fromkeys(names, ""), registry, rate, parallel, progress, most_refusals=MOST_REFUSALS)


@dataclass
class Mirror:
    """A registry that answers by path; `status` is for all others. With `token` it wants one.

    `login` is the header of a user who may have that token or, without tokens, everything.
    """

    status: int = 200
    statuses: dict[str, list[int]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    token: bool = False
    login: str = ""
    uses: int = 0
    """After so many requests a token is refused: 0 for never, -1 for always."""
    issued: int = 0
    delay: float = 0.0
    host: str = ""
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    clock: Callable[[], float] = time.monotonic
    stamps: list[float] = field(default_factory=list)
    most_at_once: int = 0
    _now: int = 0
    _left: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def heads(self) -> list[str]:
        return [path for method, path, _ in self.requests if method == "HEAD"]

    def answer(self, method: str, path: str, authorization: str) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            self.requests.append((method, path, authorization))
            self.stamps.append(self.clock())
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        time.sleep(self.delay)
        with self._lock:
            self._now -= 1
        parts = urlsplit(path)
        if self.login and (parts.path == "/token" or not self.token) and authorization != self.login:
            return 401, {"WWW-Authenticate": 'Basic realm="own"'}, b""
        if parts.path == "/token":
            (scope,) = parse_qs(parts.query)["scope"]
            self.issued += 1
            self._left = self.uses
            return 200, {}, json.dumps({"token": f"for {scope}"}).encode()
        repository = parts.path.removeprefix("/v2/").partition("/manifests/")[0]
        expired = bool(self.uses) and self._left <= 0
        self._left -= not expired
        if self.token and (expired or authorization != f"Bearer for repository:{repository}:pull"):
            realm = f'Bearer realm="http://{self.host}/token",service="mirror"'
            return 401, {"WWW-Authenticate": realm}, b""
        queue = self.statuses.get(repository, [self.status])
        return (queue.pop(0) if len(queue) > 1 else queue[0]), self.headers, b""


@contextmanager
def answering(mirror: Mirror, context: ssl.SSLContext | None = None) -> Iterator[Mirror]:
    class Own(Handler):
        def _serve(self) -> None:
            status, headers, body = mirror.answer(self.command, self.path, self.headers.get("Authorization", ""))
            self.answer(body, status, **headers)

        do_HEAD = do_GET = _serve

    with serving(listen(Own, context)) as port:
        mirror.host = f"127.0.0.1:{port}"
        yield mirror


@pytest.fixture
def started() -> Iterator[Callable[[Mirror], Mirror]]:
    with ExitStack() as stack:
        yield lambda mirror: stack.enter_context(answering(mirror))


def entry(image: str, *, gone: str = "", served: bool | None = None, covered: bool = True) -> Entry:
    use = ImageUse(
        image, None, image, image, covered, 0 if covered else None, (image,), ("pod",), ("part",), ("somewhere",)
    )
    return Entry(use, Judgement(gone, served, (), ()))


def asked(mirror: Mirror, *names: str, parallel: int = 1, clock: Clock | None = None, limit: int = 1000) -> Probe:
    clock = clock or Clock()
    pace = RateLimit(limit, clock, clock.wait)
    return probe([f"{mirror.host}/{name}" for name in names], Registry(pace), pace, parallel, silent)


def verdicts(result: Probe) -> list[str]:
    return [item.verdict for item in result.answers]


Start = Callable[[Mirror], Mirror]


def test_one_head_for_each_image(started: Start) -> None:
    mirror = started(Mirror())
    digest = "sha256:" + "0a" * 32
    result = asked(mirror, "a/b:1", "a/b:1", f"c/d@{digest}", "untagged")
    assert verdicts(result) == ["there"] * 3
    assert mirror.heads() == ["/v2/a/b/manifests/1", f"/v2/c/d/manifests/{digest}", "/v2/untagged/manifests/latest"]
    assert (len(mirror.requests), result.requests, result.stopped) == (3, 3, "")
    assert list(result.problems()) == []


def test_an_anonymous_token_is_fetched_once_for_a_repository(started: Start) -> None:
    mirror = started(Mirror(token=True))
    assert verdicts(asked(mirror, "a/b:1", "a/b:2", "c/d:1")) == ["there"] * 3
    assert [(method, urlsplit(path).path) for method, path, _ in mirror.requests] == [
        ("HEAD", "/v2/a/b/manifests/1"),
        ("GET", "/token"),
        ("HEAD", "/v2/a/b/manifests/1"),
        ("HEAD", "/v2/a/b/manifests/2"),
        ("GET", "/token"),
        ("HEAD", "/v2/c/d/manifests/1"),
    ]


def test_a_token_that_expires_is_renewed(started: Start) -> None:
    mirror = started(Mirror(token=True, uses=2))
    assert verdicts(asked(mirror, *(f"a/b:{number}" for number in range(5)))) == ["there"] * 5
    assert mirror.issued == 3


def test_a_repository_that_refuses_a_new_token_is_asked_for_no_more_tokens(started: Start) -> None:
    mirror = started(Mirror(token=True, uses=-1))
    assert verdicts(asked(mirror, "a/b:1", "a/b:2", "c/d:1")) == ["refused"] * 3
    assert (mirror.issued, len(mirror.heads())) == (2, 4)


@pytest.mark.parametrize(("status", "verdict"), [(404, "missing"), (403, "refused"), (500, "unanswered")])
def test_a_refusal_is_not_repeated(started: Start, status: int, verdict: str) -> None:
    mirror = started(Mirror(statuses={"a/b": [status]}))
    result = asked(mirror, "a/b:1", "c/d:1")
    assert verdicts(result) == [verdict, "there"]
    assert len(mirror.requests) == 2
    (problem,) = result.problems()
    assert f"1 image {verdict} on the mirror: {mirror.host}/a/b:1 ({status})." in problem.found


@pytest.mark.parametrize("status", [403, 404])
def test_many_refusals_end_it(started: Start, status: int) -> None:
    mirror = started(Mirror(status=status))
    result = asked(mirror, *(f"a/b:{number}" for number in range(30)))
    assert len(mirror.requests) == MOST_REFUSALS
    assert verdicts(result).count("unasked") == 30 - MOST_REFUSALS
    assert "10 answers of 403, 404, 429 or 5xx" in result.stopped
    assert "not asked for 20 images" in list(result.problems())[-1].found


def test_a_mirror_that_is_out_of_order_is_asked_three_times(started: Start) -> None:
    mirror = started(Mirror(status=502))
    result = asked(mirror, *(f"a/b:{number}" for number in range(30)))
    assert (len(mirror.requests), result.refusals) == (3, 3)
    assert result.stopped.endswith(": 502")
    assert not result.unreachable


def test_401_is_a_refusal_of_one_image_and_ends_nothing(started: Start) -> None:
    mirror = started(Mirror(status=401))
    result = asked(mirror, *(f"a/b:{number}" for number in range(30)))
    assert verdicts(result) == ["refused"] * 30
    assert (len(mirror.requests), result.refusals, result.stopped) == (30, 0, "")


def test_too_many_requests_are_followed_by_the_pause_that_is_asked_for(started: Start) -> None:
    mirror, clock = started(Mirror(statuses={"a/b": [429, 200]}, headers={"Retry-After": "7"})), Clock()
    assert verdicts(asked(mirror, "a/b:1", "c/d:1", clock=clock)) == ["there", "there"]
    assert clock.waits == [7.0]
    assert len(mirror.requests) == 3


def test_the_pause_that_is_asked_for_may_be_a_date(started: Start) -> None:
    date = format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=20), usegmt=True)
    mirror, clock = started(Mirror(statuses={"a/b": [429, 200]}, headers={"Retry-After": date})), Clock()
    assert verdicts(asked(mirror, "a/b:1", clock=clock)) == ["there"]
    assert 15 < clock.waits[0] <= 20


def test_after_too_many_requests_only_half_as_many_are_sent_a_minute(started: Start) -> None:
    mirror, clock = started(Mirror(statuses={"a/0": [429, 200]}, headers={"Retry-After": "7"})), Clock()
    mirror.clock = clock
    asked(mirror, *(f"a/{number}:1" for number in range(30)), clock=clock, limit=20)
    later = mirror.stamps[1:]
    assert len(later) == 30
    assert all(sum(start <= stamp < start + 60 for stamp in later) <= 10 for start in later)


def test_an_exception_that_nobody_expects_ends_the_probe_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Registry):
        def head(self, image: ImageName) -> Answer:
            if image.tag == "bad":
                raise ZeroDivisionError
            held.wait(20)
            return Answer(200)

    held = threading.Event()
    monkeypatch.setattr(RateLimit, "cancel", lambda _: held.set())
    pace = RateLimit(1000)
    started = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        probe(["a.io/b:1", "a.io/b:bad"], Broken(pace), pace, 2, silent)
    assert time.monotonic() - started < 10


def test_a_second_time_ends_it(started: Start) -> None:
    mirror = started(Mirror(statuses={"a/b": [429]}))
    result = asked(mirror, "a/b:1", "c/d:1")
    assert verdicts(result) == ["unanswered", "unasked"]
    assert re.search("429.* again", result.stopped)
    assert len(mirror.requests) == 2


def test_a_very_long_pause_ends_it(started: Start) -> None:
    mirror = started(Mirror(status=429, headers={"Retry-After": "86400"}))
    result = asked(mirror, "a/b:1", "c/d:1")
    assert len(mirror.requests) == 1
    assert re.search("429.* 86400 s$", result.stopped)


def test_never_more_than_the_rate_in_any_minute(started: Start) -> None:
    mirror, clock = started(Mirror()), Clock(0.0)
    mirror.clock = clock
    asked(mirror, *(f"a/b:{number}" for number in range(50)), clock=clock, limit=20)
    stamps = mirror.stamps
    assert len(stamps) == 50
    assert all(sum(start <= stamp < start + 60 for stamp in stamps) <= 20 for start in stamps)
    assert clock.now == 120.0


def test_a_long_probe_tells_where_it_is(started: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.rollout.images.registry.probe._BEAT_SECONDS", 0.02)
    mirror = started(Mirror(delay=0.05))
    lines: list[str] = []
    pace = RateLimit(100)
    probe([f"{mirror.host}/a:{number}" for number in range(3)], Registry(pace), pace, 1, lines.append)
    assert re.findall(r"\d+ \w+", lines[0]) == ["3 images", "100 requests"]
    assert [line for line in lines[1:] if not re.search(r" \d of 3 images: (\d there|no answer yet)$", line)] == []
    assert len(lines) > 1


def test_an_interruption_does_not_wait_for_the_next_minute(started: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.rollout.images.registry.probe._BEAT_SECONDS", 0.02)
    mirror = started(Mirror())
    pace = RateLimit(1)

    def interrupt(line: str) -> None:
        if line.startswith("asked"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        probe([f"{mirror.host}/a:{number}" for number in range(3)], Registry(pace), pace, 1, interrupt)
    assert len(mirror.requests) == 1, "the next request would be one of the next minute"


def test_no_more_at_once_than_allowed(started: Start) -> None:
    mirror = started(Mirror(delay=0.05))
    asked(mirror, *(f"a/b:{number}" for number in range(12)), parallel=4)
    assert 2 <= mirror.most_at_once <= 4


def test_what_is_known_is_not_asked(started: Start) -> None:
    mirror = started(Mirror())
    entries = [
        entry(f"{mirror.host}/gone:1", gone="since 2025"),
        entry(f"{mirror.host}/unlisted:1", served=False),
        entry("elsewhere.example.com/x:1", covered=False),
        entry(f"{mirror.host}/good:1"),
    ]
    settings = parse({"image_mirror_mode": "rewrite", "image_mirror_probe_per_minute": 1000})
    result = ask_mirror(ImagesReport(tuple(entries), (), (), ()), settings, silent)
    assert [(item.verdict, item.why.rpartition(" ")[2]) for item in result.answers] == [
        ("unasked", "upstream"),
        ("unasked", "list"),
        ("there", ""),
    ]
    assert mirror.heads() == ["/v2/good/manifests/1"]


def test_a_slow_mirror_is_given_up_after_three(started: Start) -> None:
    mirror = started(Mirror(delay=10.0))
    pace = RateLimit(100)
    entries = [f"{mirror.host}/a:{number}" for number in range(8)]
    result = probe(entries, Registry(pace, timeout_seconds=0.05), pace, 1, silent)
    assert verdicts(result) == ["unanswered"] * 3 + ["unasked"] * 5
    assert "timed out" in result.stopped


def test_nobody_there_is_told(started: Start) -> None:
    mirror = started(Mirror())
    pace = RateLimit(100)
    with answering(Mirror()) as other:
        host = other.host
    result = probe([f"{host}/a:1", f"{mirror.host}/a:1"], Registry(pace), pace, 1, silent)
    assert [(item.verdict, "refused" in item.why) for item in result.answers] == [
        ("unanswered", True),
        ("there", False),
    ]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificate and key for localhost, signed by itself."""
    made = signer("localhost", named("localhost"), now=dt.datetime.now(dt.UTC))
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(pem(made.certificate) + made.private)
    return path


def test_an_unknown_authority_ends_it_at_once(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    pace = RateLimit(100)
    with answering(Mirror(), context) as mirror:
        host = mirror.host.replace("127.0.0.1", "localhost")
        entries = [f"{host}/a:{number}" for number in range(3)]
        result = probe(entries, Registry(pace, scheme=lambda _: "https"), pace, 1, silent)
    assert mirror.requests == []
    assert verdicts(result) == ["unanswered", "unasked", "unasked"]
    assert "certificate" in result.stopped


def test_a_trusted_authority_is_asked(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    pace = RateLimit(100)
    with answering(Mirror(), context) as mirror:
        host = mirror.host.replace("127.0.0.1", "localhost")
        result = probe([f"{host}/a:1"], Registry(pace, scheme=lambda _: "https"), pace, 1, silent)
    assert verdicts(result) == ["there"]


@pytest.mark.parametrize(
    ("host", "scheme"),
    [
        ("m.daocloud.io", "https"),
        ("registry.lan:5000", "https"),
        ("10.0.0.1:5000", "https"),
        ("localhost:5000", "http"),
        ("127.0.0.1", "http"),
        ("localhost.example.com", "https"),
    ],
)
def test_only_this_machine_is_asked_without_tls(host: str, scheme: str) -> None:
    assert scheme_of(host) == scheme


def test_a_login_reaches_no_host_that_its_registry_redirects_to(started: Callable[[Mirror], Mirror]) -> None:
    other = started(Mirror(token=True))
    own = started(Mirror(status=307, headers={"Location": f"http://{other.host}/v2/a/manifests/1"}))
    registry = Registry(None, credentials={own.host: "bWU6c2VjcmV0"})
    image = ImageName.parse(f"{own.host}/a:1")
    assert image is not None

    assert registry.head(image).status == 401
    assert [authorization for _, _, authorization in own.requests] == ["Basic bWU6c2VjcmV0"]
    assert [authorization for _, _, authorization in other.requests] == [""]


def test_a_login_is_not_sent_in_clear_to_the_token_service_of_a_registry_with_tls(
    started: Callable[[Mirror], Mirror],
) -> None:
    mirror = started(Mirror(token=True))
    schemes = iter(["http", "https"])  # the request is seen to by a server without TLS, the rule by the second
    registry = Registry(None, scheme=lambda _: next(schemes, "http"), credentials={mirror.host: "bWU6c2VjcmV0"})
    image = ImageName.parse(f"{mirror.host}/a:1")
    assert image is not None

    registry.head(image)
    assert [authorization for _, path, authorization in mirror.requests if path.startswith("/token")] == [""]


@pytest.fixture
def _no_authfile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)


@pytest.mark.usefixtures("_no_authfile")
@pytest.mark.parametrize("token", [False, True])
@pytest.mark.parametrize(("password", "verdict"), [("right", "there"), ("wrong", "refused"), ("", "refused")])
def test_a_registry_that_requires_a_sign_in_is_asked_with_the_login_of_the_inventory(
    started: Callable[[Mirror], Mirror],
    deployment: Objects,
    token: bool,  # noqa: FBT001
    password: str,
    verdict: str,
) -> None:
    mirror = started(Mirror(token=token, login="Basic cm9ib3Q6cmlnaHQ="))
    logins = [{"registry": mirror.host, "username": "robot", "password": password}] if password else []
    settings = parse(
        {
            "image_mirror_mode": "rewrite",
            "image_mirror_rules": [{"source": "*", "prefix": mirror.host}],
            "image_mirror_probe": True,
            "image_mirror_probe_per_minute": 1000,
            "image_mirror_credentials": logins,
        }
    )
    found = report(rewrite({"part": (deployment("d", image="gcr.io/a/b:1"),)}, settings.mirror), settings)
    result = ask_mirror(found, settings, silent)
    assert {item.verdict for item in result.answers if "/a/b:1" in item.image} == {verdict}
    for problem in result.problems():
        assert "image_mirror_credentials" in problem.todo or "was not asked" in problem.found
        assert "wrong" not in str(problem)


@pytest.mark.parametrize("realm", ["foo", "http://[", "file:///etc/passwd", "http://a b/"])
def test_a_token_service_without_a_usable_address_is_an_error(monkeypatch: pytest.MonkeyPatch, realm: str) -> None:
    registry = Registry(None)
    refused = Answer(401), {"WWW-Authenticate": f'Bearer realm="{realm}"'}, b""
    monkeypatch.setattr(registry, "_part", lambda *_: refused)
    image = ImageName.parse("registry.lan/a:1")
    assert image is not None
    answer = registry.head(image)
    assert (answer.status, bool(answer.error)) == (0, True)
