"""Objects and files of others with values of odd types: an outcome or a refusal with a reason, never an exception.

One value of a good object is replaced, at a place that a seed draws; a failure names the seed, the place and the value.
"""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
import itertools
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.cluster.ownership import owner_of
from kubeflow_volcano.hosts.facts import Host
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.backup import files as backups
from kubeflow_volcano.rollout.backup.admitted import Platform, Spaces, access_given, refused
from kubeflow_volcano.rollout.backup.selection import has_ended, sendable, stage_of, why_left_out
from kubeflow_volcano.rollout.bundle import contents
from kubeflow_volcano.rollout.bundle.sums import Summing
from kubeflow_volcano.rollout.images.registry.client import Registry
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations
from kubeflow_volcano.rollout.packing.layout import StoredImage
from kubeflow_volcano.rollout.patches.own import overruled, with_own_patches
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.state.inventory import read_inventory
from kubeflow_volcano.rollout.state.ledger import expected_seconds, has_ended_well
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.cli.commands import main
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status
from kubeflow_volcano.validators.core.resources import RESOURCES
from kubeflow_volcano.validators.hosts import CHECKS as HOST_CHECKS
from kubeflow_volcano.validators.reading.collect import unread
from kubeflow_volcano.validators.reading.trimming import trim_of
from kubeflow_volcano.validators.run.judging import Judging
from tests.recorded.recording import clusters, load
from tests.samples import hosts, jobs
from tests.samples.facts import NOW, node
from tests.unit.dribbling import dribbling
from tests.unit.rollout.patches.test_own import OBJECTS

SEED = 33
DEEP: Any = "x"
for _ in range(150):
    DEEP = [DEEP]
ODD: tuple[Any, ...] = (None, [], {}, "x", "", 7, -1, 1.5, True, [None], [[]], {"a": None}, DEEP)
Draw = Callable[[Any], Any]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value below this one; of lists the first two items."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*at, key)
        yield from places(item, (*at, key))


@pytest.fixture(params=range(2))
def draw(request: pytest.FixtureRequest) -> Draw:
    """A copy of its argument with one odd value."""
    rng = random.Random(SEED + request.param)  # noqa: S311  no secret

    def drawn(value: Any) -> Any:
        copied = copy.deepcopy(value)
        path = rng.choice([path for path in places(value) if path not in {("apiVersion",), ("kind",)}])
        odd = rng.choice(ODD)
        *above, last = path
        holder = copied
        for key in above:
            holder = holder[key]
        holder[last] = odd
        print(f"seed {SEED + request.param}: {path} is {odd!r:.80}")  # noqa: T201  pytest shows it where a test fails
        return copied

    return drawn


class Literal(Cluster):
    """A server with these objects, which answers nothing else."""

    def __init__(self, *objects: Object) -> None:
        super().__init__(lambda: None, "literal", "")  # type: ignore[arg-type,return-value]
        self._objects = objects

    def resource(self, api_version: str, kind: str, *, refresh: bool = False) -> Resource:  # noqa: ARG002
        return Resource(api_version, kind, f"{api_version} {kind}", namespaced=False)

    def request(self, method: str, path: str, **_: Any) -> Any:
        for item in self._objects:
            where = self.resource(item["apiVersion"], item["kind"])
            name = item["metadata"].get("name") if isinstance(item["metadata"], dict) else None
            if method == "GET" and path == where.path("", str(name)):
                return copy.deepcopy(item)
        of_kind = [
            copy.deepcopy(item)
            for item in self._objects
            if path == self.resource(item["apiVersion"], item["kind"]).path()
        ]
        if method == "GET" and " " in path and of_kind:
            return {"metadata": {"resourceVersion": "1"}, "items": of_kind}
        raise ApiError(404, "NotFound", f"nothing is at {path}")


def test_checks_of_a_cluster(draw: Draw) -> None:
    names = itertools.cycle(clusters())
    for kind in RESOURCES.values():
        found = next(
            (found for name in itertools.islice(names, len(clusters())) if (found := load(name)).objects[kind]), None
        )
        if found is None:
            continue
        first, *others = found.objects[kind]
        try:
            read = Literal(draw(first), *others).list(kind.api_version, kind.kind, trim=trim_of(kind)).items
        except ApiError as error:
            facts = replace(found, objects={**found.objects, kind: ()}, unread={kind: unread(kind, error)})
        else:
            facts = replace(found, objects={**found.objects, kind: read})
        judging = Judging(CHECKS, {}, silent)
        judging.judge(facts)
        bad = [item.outcome for item in judging.results() if item.outcome.status is Status.ERROR]
        assert all(item.reason and item.message for item in bad)


def test_an_explanation_of_a_job(
    draw: Draw, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for job, number in itertools.product([jobs.tfjob(), jobs.vcjob()], range(9)):
        around = [*jobs.healthy(), jobs.group(job), jobs.member(job, 0), jobs.member(job, 1, on="n1")]
        around += [jobs.event(job, "FailedScheduling", "no room")]
        objects = [job, *around]
        index = number % len(objects)
        objects[index] = draw(objects[index])
        monkeypatch.setattr(Cluster, "connect", lambda *_, objects=objects, **__: Literal(*objects))
        assert main(["explain", "job", "team-a/mnist", "--kind", job["kind"]]) in range(5)
    assert "Traceback" not in capsys.readouterr().err


def test_an_explanation_of_manifests(draw: Draw, tmp_path: Path) -> None:
    template = {
        "volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "x"}}],
        "tolerations": [{"key": "x", "operator": "Exists"}],
        "nodeSelector": {"a": "b"},
    }
    for obj, _ in itertools.product(
        [jobs.tfjob(template=template), jobs.vcjob(), jobs.group(jobs.tfjob()), *jobs.healthy()[2:5]], range(6)
    ):
        place = tmp_path / "manifest.json"
        place.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [draw(obj)]}))
        assert main(
            ["explain", "manifest", str(place), "--offline", "--fix", "--output", str(tmp_path / "o")]
        ) in range(5)


def test_checks_of_hosts(draw: Draw) -> None:
    for _ in range(10):
        answer = draw({"facts": hosts.answer(), "sent": NOW, "received": NOW})
        found = hosts.facts(Host.decode("n1", "n1", frozenset(), answer), nodes=[node("n1")], server="v1.30.2")
        for check in HOST_CHECKS:
            try:
                outcome = check(found)
            except CannotJudgeError as stop:
                outcome = stop.outcome
            assert outcome.reason
            assert outcome.message


PLATFORM = Platform({"tfjobs.kubeflow.org": ("training-operator",)}, frozenset({"kubeflow"}))
TITLES = {("kubeflow.org", "TFJob"): "tfjobs.kubeflow.org", ("kubeflow.org", "Profile"): "profiles.kubeflow.org"}


def test_a_backup(draw: Draw, tmp_path: Path) -> None:
    owner = {"kind": "User", "name": "eve@example.com"}
    binding: Object = new_object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "b",
        "team-a",
        meta={"annotations": {"role": "edit", "user": owner["name"]}},
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubeflow-edit"},
        subjects=[owner],
    )
    profile: Object = new_object("kubeflow.org/v1", "Profile", "team-a", spec={"owner": owner, "plugins": []})
    job = jobs.tfjob() | {"status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    origin = backups.Origin("2026-01-01T00:00:00+00:00", "v1.30.2", {}, {}, ())
    place = backups.write(tmp_path, backups.Backup(origin, (binding, profile, job)))
    good = {path: path.read_text() for path in place.iterdir()}
    for path, _ in itertools.product(good, range(6)):
        value = draw(yaml.safe_load(good[path]))
        path.write_text(json.dumps(value) if path.suffix == ".json" else yaml.safe_dump(value))
        try:
            objects = backups.read(place, accept_changed=True).objects
        except ProblemsError:
            objects = ()
        spaces = Spaces(frozenset({"team-a"}), frozenset({"team-a"}), frozenset())
        assert all(problem.todo for problem in refused(objects, TITLES, spaces, PLATFORM, allow_rights=False))
        access_given(objects)
        for obj in objects:
            why_left_out(obj), has_ended(obj), stage_of(obj), sendable(obj, {}), owner_of(obj)
        path.write_text(good[path])


def test_the_contents_of_a_bundle(draw: Draw, tmp_path: Path) -> None:
    entry = contents.Entry("wheels/a.whl", 1, "0" * 64, "https://a.example/a.whl")
    text = contents.text_of(contents.Contents("1.0.0", "1.9.1", ("amd64",), "3.11", complete=True, files=(entry,)))
    for _ in range(10):
        (tmp_path / contents.CONTENTS).write_text(json.dumps(draw(json.loads(text))))
        with pytest.raises(ProblemsError):
            contents.load(tmp_path)


def test_the_records_of_roll_outs(draw: Draw) -> None:
    run = {
        "release": "1.9.1",
        "finished": "2026-01-01T00:00:00+00:00",
        "seconds_of_a_change": 40,
        "components": {"one": {"objects": 1, "seconds": 20}},
    }
    brought = {"version": "1", "objects": {"v1 Service": {"a/b": "uid"}}, "left": {"0": {"v1 Service": {"a/c": ""}}}}
    for _ in range(10):
        ledger = {"metadata": {"name": "rollout-ledger"}, "data": {"one": json.dumps(draw(run))}}
        objects = {"metadata": {"name": "rollout-objects"}, "data": {"one": json.dumps(draw(brought))}}
        cluster = Literal(*({"apiVersion": "v1", "kind": "ConfigMap", **item} for item in (ledger, objects)))
        expected_seconds(cluster, ["one"], quiet=False), has_ended_well(cluster, ["one"])
        read_inventory(cluster)


CONDITIONS: tuple[Any, ...] = (
    *(odd for odd in ODD if odd is not DEEP),
    [{"type": []}],
    [{"type": "Ready", "status": []}],
    [{"type": "Ready", "message": 7, "lastTransitionTime": 5}],
)


@pytest.mark.parametrize("odd", CONDITIONS, ids=str)
def test_conditions_of_another_shape_are_none(odd: Any) -> None:
    """Whatever kind keeps them: no check breaks."""
    for name in clusters()[::6]:
        found = load(name)
        objects = {
            kind: tuple(item | {"status": {**(item.get("status") or {}), "conditions": odd}} for item in items)
            for kind, items in found.objects.items()
        }
        judging = Judging(CHECKS, {}, silent)
        judging.judge(replace(found, objects=objects))
        assert not [item for item in judging.results() if item.outcome.reason == "CheckBroke"]


STATUS_LINES = ("200 OK", "302 Found", "401 Unauthorized", "404 Not Found", "429 Too Many Requests", "999 ", "abc", "")
HEADERS = (
    "Content-Length",
    "Retry-After",
    "Docker-Content-Digest",
    "WWW-Authenticate",
    "Location",
    "Transfer-Encoding",
)
VALUES = (
    "",
    "x",
    "-1",
    "nan",
    "1e999",
    "9" * 400,
    "\x1b[2J",
    "http://[",
    "http://127.0.0.1:99999/",
    "chunked",
    "a,b;c=",
)
CHALLENGES = ('Bearer realm="{}"', 'Bearer realm="', "Bearer", 'Basic realm="{}"', 'bearer realm="{}",service=""')


@pytest.mark.parametrize("line", STATUS_LINES)
def test_answers_of_a_registry(line: str) -> None:
    rng = random.Random(f"{SEED} {line}")  # noqa: S311  no secret
    for header, value in rng.sample([*itertools.product(HEADERS, VALUES)], 15):
        shown = CHALLENGES[len(value) % len(CHALLENGES)].format(value) if header == "WWW-Authenticate" else value
        with dribbling(f"HTTP/1.1 {line}\r\n{header}: {shown}\r\n\r\n".encode(), b"", most=0) as address:
            image = ImageName.parse(f"{address.removeprefix('http://')}/a/b:1")
            assert image
            answer = Registry(None, timeout_seconds=2).head(image)
        assert answer.why
        assert answer.digest == ""
        assert 0 <= answer.retry_after < math.inf


@pytest.mark.parametrize(
    "body", [*(json.dumps(odd).encode() for odd in ODD), b"\xff", b"[" * 5000, b'{"token": "a\\nb"}', b'{"token": []}']
)
def test_answers_of_a_token_service(api: Any, body: bytes) -> None:
    challenge = {"WWW-Authenticate": f'Bearer realm="{api.url}/token"'}
    api.on("HEAD", "/v2/a/b/manifests/1", api.reply(401, b"", challenge))
    api.on("GET", "/token", api.reply(body=body))
    image = ImageName.parse(f"{api.url.removeprefix('http://')}/a/b:1")
    assert image
    assert Registry(None).head(image).status in {0, 401}


def test_images_in_directories(draw: Draw, tmp_path: Path) -> None:
    def stored(value: Any) -> str:
        content = json.dumps(value).encode()
        total = hashlib.sha256(content).hexdigest()
        (tmp_path / f"{total}.manifest.json").write_bytes(content)
        (tmp_path / total).write_bytes(content)
        return f"sha256:{total}"

    (tmp_path / "version").write_text("Directory Transport Version: 1.1\n")
    for _ in range(20):
        config = {"digest": stored(draw({"architecture": "arm64", "config": {}}))}
        layers = [{"digest": stored("layer")}]
        manifest = {"digest": stored(draw({"config": config, "layers": layers})), "platform": {"architecture": "arm64"}}
        for top in ({"config": config, "layers": layers}, {"manifests": [manifest, manifest]}):
            (tmp_path / "manifest.json").write_text(json.dumps(draw(top)))
            image = StoredImage(tmp_path)
            assert image.damage(Summing(silent))
            assert all(isinstance(item, str) for item in image.architectures())


PATCHES: tuple[Any, ...] = (
    {"metadata": []},
    {"metadata": "x"},
    {"metadata": {"labels": {"since": dt.date(2026, 1, 1)}}},
    {"metadata": {1: 2, None: "x"}},
    {"metadata": {"annotations": {"a": float("nan")}}},
    {"spec": {"template": DEEP}},
    {"$patch": "delete"},
    {"$patch": "x"},
    {"data": {"a": b"x"}},
    [{"op": "move", "path": "/data/a", "from": 7}],
    [{"op": "add", "path": "/x/y/z", "value": None}],
    [{"op": "remove", "path": "/metadata/name"}],
    [{"op": "replace", "path": "/kind", "value": ["x"]}],
)


def own_patches(kustomize: Path, cache: Path, patches: Any) -> None:
    """Merged, or refused with a reason."""
    problems: list[Problem] = []
    try:
        parsed = parse({"kubeflow_profile": "full", "kubeflow_patches": {"katib": patches}})
        settings = replace(parsed, kustomize=kustomize, own_kustomize=True, cache_directory=cache)
        after = with_own_patches("katib", OBJECTS, settings, silent)
        problems += overruled("katib", settings, after, OBJECTS)
        assert len(after) == len(OBJECTS)
    except ProblemsError as error:
        problems += error.problems
    assert all(problem.found and problem.todo for problem in problems)


@pytest.mark.parametrize("patch", PATCHES, ids=repr)
@pytest.mark.parametrize("name", ["katib.config", "katib-ui"])
def test_patches_of_an_inventory(kustomize: Path, tmp_path: Path, name: str, patch: Any) -> None:
    kind = "ConfigMap" if "." in name else "Deployment"
    own_patches(kustomize, tmp_path, [{"target": {"kind": kind, "name": name}, "patch": patch}])


def test_patches_of_an_inventory_with_odd_values(kustomize: Path, draw: Draw, tmp_path: Path) -> None:
    target = {"kind": "Deployment", "name": "katib-ui", "namespace": "kubeflow"}
    merged = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"spec": {"containers": [{"name": "ui"}]}}}}
    step = {"op": "add", "path": "/metadata/labels/b", "value": "c"}
    for _ in range(8):
        own_patches(
            kustomize, tmp_path, draw([{"target": target, "patch": merged}, {"target": target, "patch": [step]}])
        )


def test_kustomizations_of_a_source(draw: Draw, tmp_path: Path) -> None:
    """Kustomize refuses them; what they refer to is only asked before."""
    good = {
        "resources": ["a.yaml"],
        "bases": ["../b"],
        "patches": [{"path": "c.yaml"}],
        "configMapGenerator": [{"files": ["k=d"], "envs": ["e"], "env": "f"}],
        "openapi": {"path": "g"},
        "replacements": [{"path": "h"}],
    }
    places_of_lists = [
        ("resources",),
        ("bases",),
        ("configMapGenerator", 0, "files"),
        ("configMapGenerator", 0, "envs"),
    ]
    drawn = [draw(good) for _ in range(40)]
    for (*above, last), odd in itertools.product(places_of_lists, ODD):
        odd_one: Any = copy.deepcopy(good)
        holder = odd_one
        for key in above:
            holder = holder[key]
        holder[last] = odd
        drawn.append(odd_one)
    for value in drawn:
        (tmp_path / "kustomization.yaml").write_text(json.dumps(value), "utf-8")
        assert Kustomizations().files(tmp_path) == {tmp_path / "kustomization.yaml"}
