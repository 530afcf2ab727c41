"""The registry over loopback, asked by a real HTTP client in the way containerd asks, started by a bare Python."""

from __future__ import annotations

import hashlib
import http.client
import json
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.inside import registry as module
from kubeflow_volcano.rehearsal.inside.registry import Registry, read_index

BLOB = bytes(range(256)) * 40
MEDIA = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture
def digests(tmp_path: Path) -> dict[str, str]:
    """A store with one image, called like one of a registry of its own, and one blob."""
    blobs = tmp_path / "store/blobs/sha256"
    blobs.mkdir(parents=True)
    made = {}
    for name, content in {"blob": BLOB, "manifest": b'{"schemaVersion":2}', "empty": b""}.items():
        made[name] = f"sha256:{hashlib.sha256(content).hexdigest()}"
        (blobs / made[name].removeprefix("sha256:")).write_bytes(content)
    entry = {
        "mediaType": MEDIA,
        "digest": made["manifest"],
        "size": 19,
        "annotations": {"org.opencontainers.image.ref.name": "registry.k8s.io/sig/app:v1"},
    }
    (tmp_path / "store/index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    return made


def _ask(
    registry: Registry, path: str, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", registry.server_port, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def _code(body: bytes) -> str:
    return str(json.loads(body)["errors"][0]["code"])


def test_it_says_that_it_is_a_registry(registry: Registry, digests: dict[str, str]) -> None:
    assert digests
    assert _ask(registry, "/v2/")[0] == 200


@pytest.mark.parametrize("by", ["tag", "digest"])
def test_a_manifest_is_found_under_the_registry_that_ns_names(
    registry: Registry, digests: dict[str, str], by: str
) -> None:
    reference = "v1" if by == "tag" else digests["manifest"]
    status, headers, body = _ask(registry, f"/v2/sig/app/manifests/{reference}?ns=registry.k8s.io")
    assert (status, body) == (200, b'{"schemaVersion":2}')
    assert headers["Docker-Content-Digest"] == digests["manifest"]
    assert headers["Content-Type"] == MEDIA


@pytest.mark.parametrize(
    ("path", "namespace", "status"),
    [
        ("registry.k8s.io/sig/app", "m.daocloud.io", 200),
        ("mirror/registry.k8s.io/sig/app", "registry.lan:5000", 200),
        ("sig/app", "m.daocloud.io", 404),
        ("oregistry.k8s.io/sig/app", "m.daocloud.io", 404),
    ],
)
@pytest.mark.usefixtures("digests")
def test_an_image_has_the_names_of_mirrors_that_put_theirs_before(
    registry: Registry, path: str, namespace: str, status: int
) -> None:
    assert _ask(registry, f"/v2/{path}/manifests/v1?ns={namespace}")[0] == status


def test_head_has_the_headers_of_get_and_no_body(registry: Registry, digests: dict[str, str]) -> None:
    status, headers, body = _ask(registry, "/v2/sig/app/manifests/v1?ns=registry.k8s.io", "HEAD")
    assert (status, headers["Content-Length"], body) == (200, "19", b"")
    assert headers["Docker-Content-Digest"] == digests["manifest"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v2/sig/app/manifests/v1", 404, "MANIFEST_UNKNOWN"),  # without ns: docker.io/sig/app
        ("/v2/sig/app/manifests/v1?ns=quay.io", 404, "MANIFEST_UNKNOWN"),
        ("/v2/sig/app/manifests/v2?ns=registry.k8s.io", 404, "MANIFEST_UNKNOWN"),
        ("/v2/app/manifests/v1?ns=registry.k8s.io", 404, "MANIFEST_UNKNOWN"),
        (f"/v2/sig/app/manifests/sha256:{'0' * 64}?ns=registry.k8s.io", 404, "MANIFEST_UNKNOWN"),
        (f"/v2/sig/app/blobs/sha256:{'0' * 64}", 404, "BLOB_UNKNOWN"),
        ("/v2/sig/app/blobs/v1", 400, "DIGEST_INVALID"),
        ("/v2/sig/app/blobs/..%2f..%2findex.json", 404, "NAME_UNKNOWN"),
        ("/v2/sig/app/blobs/../../index.json", 404, "NAME_UNKNOWN"),
        ("/v2/sig/app/tags/list", 404, "NAME_UNKNOWN"),
        ("/", 404, "NAME_UNKNOWN"),
    ],
)
def test_what_is_not_there_is_refused_in_the_words_of_the_specification(
    registry: Registry, digests: dict[str, str], path: str, status: int, code: str
) -> None:
    assert digests
    answer = _ask(registry, path)
    assert (answer[0], _code(answer[2])) == (status, code)


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-99", 206, range(100)),
        ("bytes=10000-", 206, range(10000, len(BLOB))),
        ("bytes=-5", 206, range(len(BLOB) - 5, len(BLOB))),
        ("bytes=100-999999", 206, range(100, len(BLOB))),
        ("bytes=0-", 200, range(len(BLOB))),
        ("bytes=9-3", 200, range(len(BLOB))),
        ("lines=1-2", 200, range(len(BLOB))),
    ],
)
def test_a_part_of_a_blob_can_be_asked_for(
    registry: Registry, digests: dict[str, str], asked: str, status: int, part: range
) -> None:
    answer = _ask(registry, f"/v2/sig/app/blobs/{digests['blob']}", Range=asked)
    assert (answer[0], answer[2]) == (status, BLOB[part.start : part.stop])
    if status == 206:
        assert answer[1]["Content-Range"] == f"bytes {part.start}-{part.stop - 1}/{len(BLOB)}"


def test_a_range_behind_the_end_is_refused(registry: Registry, digests: dict[str, str]) -> None:
    assert _ask(registry, f"/v2/sig/app/blobs/{digests['blob']}", Range="bytes=999999-")[0] == 416


def test_an_empty_blob_is_served(registry: Registry, digests: dict[str, str]) -> None:
    assert _ask(registry, f"/v2/sig/app/blobs/{digests['empty']}")[::2] == (200, b"")


def test_nothing_can_be_written(registry: Registry, digests: dict[str, str]) -> None:
    assert digests
    assert _ask(registry, "/v2/sig/app/blobs/uploads/", "POST")[0] == 501


def test_it_listens_on_loopback_only(registry: Registry) -> None:
    assert registry.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.programs
def test_a_bare_python_serves_until_it_is_told_to_end(tmp_path: Path, digests: dict[str, str]) -> None:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or shutil.which("python3")
    assert python
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [python, "-I", "-S", str(module.__file__), str(tmp_path / "store"), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", f"/v2/sig/app/blobs/{digests['blob']}")
            assert connection.getresponse().read() == BLOB
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
        finally:
            connection.close()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 0


def test_a_store_that_is_not_there_is_told_without_a_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert module.main([str(tmp_path / "nowhere"), "0"]) == 2
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capfd.readouterr().err.startswith(f"cannot serve {tmp_path}/nowhere on port 0: ")


def test_the_index_is_read_as_names_and_digests(tmp_path: Path, digests: dict[str, str]) -> None:
    assert read_index(tmp_path / "store/index.json") == {"registry.k8s.io/sig/app:v1": digests["manifest"]}
