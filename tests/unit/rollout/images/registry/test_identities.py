"""As whom consumers run, by the configuration of their images, from the registry of rehearsals and from a bundle."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.users import kept_user
from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.inside.registry import Registry
from kubeflow_volcano.rollout.images.registry.identities import describe, with_identities
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.storage.local_path import owners_of_volumes
from kubeflow_volcano.rollout.storage.static_volumes import StaticVolume
from tests.serving import Handler, serving
from tests.unit.rollout.storage.test_local_path import NODES, config

MYSQL = "library/mysql:8.0.29"
"""The image of katib-mysql in 1.9.1, whose pod names no user."""

Started = Callable[..., str]


class Store:
    """Blobs by digest, and an image: of one build, or of one for each architecture."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}
        built = {name: self._build(name, user) for name, user in users.items()}
        if "" in built:
            self.top = built[""]
        else:
            items = [
                {"digest": digest, "platform": {"os": "linux", "architecture": name}} for name, digest in built.items()
            ]
            attestation = {"digest": built["amd64"], "platform": {"os": "unknown", "architecture": "unknown"}}
            self.top = self._manifest({"manifests": [attestation, *items]})

    def _build(self, name: str, user: str) -> str:
        configuration = {"architecture": name, "config": {"User": user} if user != "-" else None}
        text = json.dumps(configuration).encode()
        digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
        self.blobs[digest] = text
        return self._manifest({"config": {"digest": digest}, "layers": []})

    def _manifest(self, content: Any) -> str:
        text = json.dumps(content).encode()
        digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
        self.manifests[digest] = text
        return digest

    def write_layout(self, directory: Path) -> Path:
        """As the registry serves it."""
        (directory / "blobs/sha256").mkdir(parents=True)
        for digest, text in (self.blobs | self.manifests).items():
            (directory / "blobs/sha256" / digest.removeprefix("sha256:")).write_bytes(text)
        names = {self.top: MYSQL} | {
            digest: f"library/mysql:{digest[-8:]}" for digest in self.manifests.keys() - {self.top}
        }
        entries = [
            {"digest": digest, "annotations": {"org.opencontainers.image.ref.name": name}}
            for digest, name in names.items()
        ]
        (directory / "index.json").write_text(json.dumps({"manifests": entries}), "utf-8")
        return directory

    def write_directory(self, directory: Path) -> None:
        """As skopeo's transport dir writes it."""
        directory.mkdir(parents=True)
        for digest, text in self.blobs.items():
            (directory / digest.removeprefix("sha256:")).write_bytes(text)
        for digest, text in self.manifests.items():
            name = "manifest.json" if digest == self.top else f"{digest.removeprefix('sha256:')}.manifest.json"
            (directory / name).write_bytes(text)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """A registry with mysql, whose builds have these users by architecture; its host."""
    with ExitStack() as stack:

        def start(users: Mapping[str, str], damage: Callable[[Path], object] = lambda _store: None) -> str:
            layout = Store(users).write_layout(tmp_path / "store")
            damage(layout)
            return f"127.0.0.1:{stack.enter_context(serving(Registry(layout)))}"

        yield start


def settings(host: str, **more: Any) -> Settings:
    return parse(
        {
            "kubeflow_release": "1.9.1",
            "kubeflow_components": ["katib"],
            "image_mirror_mode": "rewrite",
            "image_mirror_rules": [{"source": "docker.io", "registry": host}],
            **more,
        }
    )


def of_katib(found: Settings) -> Claim:
    (claim,) = found.component("katib").claims
    assert claim in {item for part in found.components for item in part.claims}
    return claim


def read(host: str, progress: Callable[[str], None] = silent, **more: Any) -> Claim:
    return of_katib(with_identities(settings(host, **more), progress))


@pytest.mark.parametrize(
    ("text", "group", "owner", "mode"),
    [
        ("999", None, "999:0", 0o770),
        ("1000:1001", 1001, "1000:1001", 0o770),
        ("1000:staff", None, "1000:0", 0o770),
        ("", None, "0:0", 0o771),
        ("-", None, "0:0", 0o771),
        ("0", None, "0:0", 0o771),
    ],
)
def test_a_number_is_the_identity(started: Started, text: str, group: int | None, owner: str, mode: int) -> None:
    claim = read(started({"": text}))
    user = int(owner.partition(":")[0])
    assert (claim.run_as_user, claim.run_as_group, claim.owner, claim.mode) == (user, group, owner, mode)
    assert f"{MYSQL}, sha256:" in claim.source
    assert StaticVolume(claim, "node", "/data").owner == (*map(int, owner.split(":")), mode)
    script = config(NODES)
    owners_of_volumes([script], [claim])
    line = f'*_kubeflow_katib-mysql) chown {owner} "$2" && chmod {mode:04o} "$2" ;;'
    assert line in script["data"]["setup"].splitlines()
    assert describe(claim)["user"].startswith(f"uid {user}")


@pytest.mark.parametrize("text", ["mysql", "mysql:999", "99999999999", "1 000", "12x"])
def test_a_name_is_not_guessed(started: Started, text: str) -> None:
    claim = read(started({"": text}))
    assert (claim.run_as_user, claim.owner) == (None, "")
    assert text in claim.source
    assert describe(claim) == {"user": "unknown", "known_from": claim.source}


@pytest.mark.parametrize(
    ("users", "nodes", "user"),
    [
        ({"amd64": "5", "arm64": "6"}, ["amd64"], 5),
        ({"amd64": "5", "arm64": "6"}, ["arm64"], 6),
        ({"amd64": "5", "arm64": "5"}, ["amd64", "arm64"], 5),
        ({"amd64": "5", "arm64": "6"}, ["amd64", "arm64"], None),
        ({"amd64": "5"}, ["amd64", "arm64"], None),
    ],
)
def test_of_an_index_the_builds_for_the_nodes_count(
    started: Started, users: dict[str, str], nodes: list[str], user: int | None
) -> None:
    assert read(started(users), plan_architectures=nodes).run_as_user == user


def test_it_is_read_once(started: Started) -> None:
    host = started({"": "999"})
    lines: list[str] = []
    first = read(host, lines.append)
    assert read(host, lines.append) == first
    assert len(lines) == 1
    digest = first.source.rpartition(", ")[2]
    assert kept_user(cache_directory(), digest, ["amd64"]) == ("999", digest)
    assert kept_user(cache_directory(), digest, ["amd64", "arm64"]) is None


def test_nothing_fails_where_nothing_answers_and_it_is_not_asked_again_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{closed.getsockname()[1]}"
        lines: list[str] = []
        for _ in range(2):
            claim = read(host, lines.append)
            assert (claim.run_as_user, claim.owner) == (None, "")
            assert host in claim.source
        assert len(lines) == 1


def test_what_does_not_have_the_sum_that_it_is_named_by_is_not_believed(started: Started) -> None:
    def damage(layout: Path) -> None:
        for path in (layout / "blobs/sha256").iterdir():
            path.write_bytes(path.read_bytes().replace(b'"999"', b'"998"'))

    assert read(started({"": "999"}, damage)).run_as_user is None


@pytest.mark.parametrize(
    "top", [b"", b"[]", b'"a"', b'{"schemaVersion": 1}', b'{"manifests": 1}', b'{"config": {"digest": "sha256:../x"}}']
)
def test_odd_manifests_are_unknown(started: Started, top: bytes) -> None:
    def damage(layout: Path) -> None:
        (item,) = json.loads((layout / "index.json").read_bytes())["manifests"]
        (layout / "blobs/sha256" / item["digest"].removeprefix("sha256:")).write_bytes(top)

    claim = read(started({"": "999"}, damage))
    assert claim.run_as_user is None
    assert claim.source


def test_a_bundle_tells_it_without_a_registry(tmp_path: Path) -> None:
    Store({"amd64": "999"}).write_directory(tmp_path / "bundle/images/docker.io/library/mysql/8.0.29")
    lines: list[str] = []
    claim = read("registry.invalid", lines.append, kubeflow_bundle=str(tmp_path / "bundle"))
    assert (claim.run_as_user, lines) == (999, [])


def test_a_registry_that_requires_a_login_gets_that_of_the_inventory() -> None:
    store = Store({"": "999"})
    expected = f"Basic {base64.b64encode(b'me:secret').decode()}"

    class Closed(Handler):
        def do_GET(self) -> None:
            digest = self.path.rpartition("/")[2]
            if self.headers.get("Authorization") != expected:
                self.answer(status=401, WWW_Authenticate='Basic realm="own"')
            else:
                self.answer(store.blobs.get(digest) or store.manifests[store.top])

    with serving(Closed) as port:
        host = f"127.0.0.1:{port}"
        assert "401" in read(host).source
    with serving(Closed) as port:
        host = f"127.0.0.1:{port}"
        login = {"registry": host, "username": "me", "password": "secret"}
        assert read(host, image_mirror_credentials=[login]).run_as_user == 999


def test_a_consumer_that_the_inventory_changes_is_not_judged_by_upstreams_image(started: Started) -> None:
    patch = {"target": {"kind": "Deployment", "name": "katib-mysql"}, "patch": {"spec": {"replicas": 1}}}
    claim = read(started({"": "999"}), kubeflow_patches={"katib": [patch]})
    assert claim.run_as_user is None
    assert "kubeflow_patches" in claim.source


def test_what_the_manifests_say_is_not_asked_for() -> None:
    known = parse({"kubeflow_release": "26.03", "kubeflow_components": ["katib"]})
    assert with_identities(known, silent) is known
    assert describe(of_katib(known)) == {"user": "uid 999 gid 999 fsGroup 999", "known_from": "the manifests"}
    assert describe(None)["user"] == "unknown"
