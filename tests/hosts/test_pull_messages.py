"""What a real containerd says of images that do not arrive is recognised: its own words, of two versions.

Real: containerd with its CRI, TLS, the network. Not real: the registry, which fails on cue, and crictl, a stand-in.
KFV_TEST_MESSAGES names a file that the messages are appended to, as material for the table of symptoms.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from kubeflow_volcano.catalog.symptoms.read import recognise
from tests.hosts.lab import Host, Lab
from tests.hosts.lab.registry import Registry

IMAGE = ("team/train", "v1")
INDEX = "application/vnd.oci.image.index.v1+json"
SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1+prettyjws"
ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
"""TLS, RFC 8446: a fatal alert, handshake_failure."""
CONFIG = """
[plugins."{table}".registry]
  config_path = "/etc/containerd/certs.d"
[plugins."{table}"]
  image_pull_progress_timeout = "5s"
"""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=["2.2", "1.7"])
def node(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Host]:
    host = lab.start("24.03", request.param, f"messages-{request.param.replace('.', '-')}")
    path = host.root / "etc/containerd/config.toml"
    text = path.read_text()
    table = "io.containerd.grpc.v1.cri" if request.param == "1.7" else "io.containerd.cri.v1.images"
    timeout = '  image_pull_progress_timeout = "5s"'
    added = CONFIG.format(table=table)
    header = f'[plugins."{table}"]'
    if header in text:
        added = added.partition(f"\n{header}")[0] + "\n"
        text = text.replace(header, f"{header}\n{timeout}")
    path.write_text(text + added)
    host.run("systemctl restart containerd")
    yield host
    host.remove()


class Pull:
    """Pulls on the node; `registries` are stopped at the end."""

    def __init__(self, lab: Lab, node: Host) -> None:
        self.node, self._lab = node, lab
        self.registries: list[Registry] = []

    def registry(
        self,
        *,
        tls: bool = True,
        odd: Callable[[BaseHTTPRequestHandler], bool] = lambda _request: False,
        days: tuple[int, int] = (-1, 30),
        name: str = "",
    ) -> Registry:
        """One with the image."""
        place = self._lab.directory / f"odd-{self.node.name}-{len(self.registries)}-{os.urandom(3).hex()}"
        made = Registry(str(self._lab.bridge.address), place, tls, odd=odd, days=days, certified=name)
        made.put(*IMAGE)
        self.registries.append(made)
        return made

    def said(self, address: str, ca: Path | None = None, scheme: str = "https") -> str:
        """What containerd says when it pulls the image from there, without time and level of the log."""
        directory = self.node.root / "etc/containerd/certs.d" / address
        directory.mkdir(parents=True, exist_ok=True)
        server = f"{scheme}://{address}"
        trust = [f'ca = "/etc/containerd/certs.d/{address}/ca.crt"'] if ca else []
        # Of what a host does not have containerd asks the server as well, so both are trusted.
        lines = [f'server = "{server}"', *trust, f'[host."{server}"]', 'capabilities = ["pull", "resolve"]', *trust]
        if ca:
            (directory / "ca.crt").write_bytes(ca.read_bytes())
        (directory / "hosts.toml").write_text("\n".join(lines) + "\n")
        done = self.node.run(f"crictl pull {address}/{IMAGE[0]}:{IMAGE[1]}", check=False)
        assert done.returncode != 0
        found = re.search(r'msg=("(?:[^"\\]|\\.)*")', done.stderr + done.stdout)
        assert found, done
        said = str(json.loads(found[1])).removeprefix("pulling image: ")
        if file := os.environ.get("KFV_TEST_MESSAGES"):
            name = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0]
            with Path(file).open("a", encoding="utf-8") as stream:
                stream.write(f"{name}\t{said}\n")
        return said

    def of(self, registry: Registry) -> str:
        """As above, of a registry that the node trusts."""
        return self.said(registry.address, registry.ca if registry.tls else None, "https" if registry.tls else "http")


@pytest.fixture
def pull(lab: Lab, node: Host) -> Iterator[Pull]:
    made = Pull(lab, node)
    yield made
    for registry in made.registries:
        registry.stop()


def shown(said: str) -> str:
    found = recognise(said, "pull")
    return found.id if found else f"not recognised: {said}"


def answering(
    status: int, body: object, headers: dict[str, str] | None = None, *, kind: str = ""
) -> Callable[[BaseHTTPRequestHandler], bool]:
    """A registry that says this to requests whose path has `kind` in it."""

    def odd(request: BaseHTTPRequestHandler) -> bool:
        if kind not in request.path:
            return False
        content = json.dumps(body).encode()
        request.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)
        return True

    return odd


def refusing(code: str) -> dict[str, list[dict[str, str]]]:
    return {"errors": [{"code": code, "message": code.lower().replace("_", " ")}]}


@pytest.mark.parametrize(
    ("status", "code", "symptom"),
    [
        (401, "UNAUTHORIZED", "login-needed"),
        (403, "DENIED", "refused"),
        (404, "MANIFEST_UNKNOWN", "missing"),
        (404, "NAME_UNKNOWN", "missing"),
        (429, "TOOMANYREQUESTS", "rate-limit"),
        (500, "UNKNOWN", "unavailable"),
        (502, "UNKNOWN", "unavailable"),
        (503, "UNKNOWN", "unavailable"),
    ],
)
def test_statuses_of_manifests(pull: Pull, status: int, code: str, symptom: str) -> None:
    said = pull.of(pull.registry(odd=answering(status, refusing(code), kind="/manifests/")))
    assert shown(said) == symptom


@pytest.mark.parametrize(
    ("status", "symptom"), [(403, "refused"), (404, "missing"), (502, "unavailable"), (429, "rate-limit")]
)
def test_statuses_of_blobs(pull: Pull, status: int, symptom: str) -> None:
    said = pull.of(pull.registry(odd=answering(status, refusing("BLOB"), kind="/blobs/")))
    assert shown(said) == symptom


@pytest.mark.parametrize(("status", "symptom"), [(401, "login-needed"), (403, "token-refused"), (503, "unavailable")])
def test_a_token_that_is_not_given(pull: Pull, status: int, symptom: str) -> None:
    registry = pull.registry()
    realm = f'Bearer realm="https://{registry.address}/token",service="lab",scope="repository:team/train:pull"'
    asks = answering(401, refusing("UNAUTHORIZED"), {"WWW-Authenticate": realm}, kind="/v2/")
    token = answering(status, refusing("DENIED"), kind="/token")
    registry.odd = lambda request: asks(request) or token(request)
    assert shown(pull.of(registry)) == symptom


def test_a_login_that_is_refused(pull: Pull) -> None:
    basic = {"WWW-Authenticate": 'Basic realm="lab"'}
    assert shown(pull.of(pull.registry(odd=answering(401, refusing("UNAUTHORIZED"), basic)))) == "login-needed"


@pytest.mark.parametrize(
    ("days", "name", "symptom"),
    [
        ((-30, -1), "", "certificate-expired"),
        ((2, 30), "", "clock-behind"),
        ((-1, 30), "other.example", "certificate-name"),
    ],
)
def test_certificates(pull: Pull, days: tuple[int, int], name: str, symptom: str) -> None:
    assert shown(pull.of(pull.registry(days=days, name=name))) == symptom


def test_an_authority_that_nobody_vouches_for(pull: Pull) -> None:
    assert shown(pull.said(pull.registry().address)) == "certificate"


def test_plain_http_where_https_is_asked(pull: Pull) -> None:
    assert shown(pull.said(pull.registry(tls=False).address)) == "plain-http"


def test_https_where_plain_http_is_asked(pull: Pull) -> None:
    go = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
    with raw(pull, go) as address:
        assert shown(pull.said(address, scheme="http")) == "https-needed"


@contextmanager
def raw(pull: Pull, answer: bytes | None) -> Iterator[str]:
    """The address of a server that says this to whatever comes first and hangs up; None: with a reset."""
    registry = pull.registry()
    with socket.create_server((registry.host, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                client.recv(65536)
                if answer is None:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    client.sendall(answer)
                client.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"{registry.host}:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(("answer", "symptom"), [(None, "reset"), (b"", "reset"), (ALERT, "tls")])
def test_connections_that_are_cut_in_the_handshake(pull: Pull, answer: bytes | None, symptom: str) -> None:
    with raw(pull, answer) as address:
        assert shown(pull.said(address)) == symptom


def test_a_port_that_nobody_listens_at(pull: Pull) -> None:
    with socket.create_server((pull.registry().host, 0)) as server:
        address = f"{pull.registries[0].host}:{server.getsockname()[1]}"
    assert shown(pull.said(address)) == "unreachable"


def test_a_name_that_does_not_resolve(pull: Pull) -> None:
    assert shown(pull.said("registry.invalid")) == "name-unknown"


def test_another_architecture(pull: Pull) -> None:
    registry = pull.registry()
    digest = registry.put(*IMAGE)
    size = len(registry.manifests[IMAGE[0]][digest][1])
    entry = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": size}
    entry |= {"platform": {"os": "linux", "architecture": "s390x"}}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
    registry.keep(*IMAGE, INDEX, json.dumps(index).encode())
    assert shown(pull.of(registry)) == "platform"


def test_schema_1(pull: Pull) -> None:
    if pull.node.containerd.startswith("1."):
        pytest.skip("it still reads schema 1")
    registry = pull.registry()
    layers = [{"blobSum": next(iter(registry.blobs))}]
    manifest = {"schemaVersion": 1, "name": IMAGE[0], "tag": IMAGE[1], "architecture": "amd64", "fsLayers": layers}
    manifest |= {"history": [{"v1Compatibility": "{}"}], "signatures": []}
    registry.keep(*IMAGE, SCHEMA_1, json.dumps(manifest).encode())
    assert shown(pull.of(registry)) == "schema-1"


def test_a_layer_that_is_not_what_its_digest_says(pull: Pull) -> None:
    registry = pull.registry()
    registry.blobs = {digest: content[:-1] + b"?" for digest, content in registry.blobs.items()}
    assert shown(pull.of(registry)) == "damaged"


def test_a_layer_that_ends_early(pull: Pull) -> None:
    registry = pull.registry()
    big = max(map(len, registry.blobs.values()))

    def cut(request: BaseHTTPRequestHandler) -> bool:
        if "/blobs/" not in request.path:
            return False
        request.send_response(200)
        request.send_header("Content-Length", str(big))
        request.end_headers()
        request.wfile.write(b"x" * (big // 2))
        request.close_connection = True
        return True

    registry.odd = cut
    assert shown(pull.of(registry)) in {"reset", "damaged"}


def test_a_full_disk(pull: Pull) -> None:
    registry = pull.registry()
    registry.put(*IMAGE, size=4 << 20)
    place = "/var/lib/containerd/io.containerd.content.v1.content"
    pull.node.run(f"mount -t tmpfs -o size=1m tmpfs {place} && mkdir -p {place}/ingest {place}/blobs/sha256")
    try:
        assert shown(pull.of(registry)) == "disk-full"
    finally:
        pull.node.run(f"umount -l {place}")
