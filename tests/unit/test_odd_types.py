"""Objects and files of others with values of odd types: an outcome or a refusal with a reason, never an exception.

One value of a good object is replaced, at a place that a seed draws; a failure names the seed, the place and the value.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.ownership import owner_of
from kubeflow_volcano.hosts.facts import Host
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.backup import files as backups
from kubeflow_volcano.rollout.backup.admitted import Platform, access_given, refused
from kubeflow_volcano.rollout.backup.selection import has_ended, sendable, stage_of, why_left_out
from kubeflow_volcano.rollout.bundle import contents
from kubeflow_volcano.rollout.state.inventory import read_inventory
from kubeflow_volcano.rollout.state.ledger import expected_seconds, has_ended_well, recorded_releases
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
    binding: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "team-a", "annotations": {"role": "edit", "user": owner["name"]}},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubeflow-edit"},
        "subjects": [owner],
    }
    profile: Object = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "Profile",
        "metadata": {"name": "team-a"},
        "spec": {"owner": owner, "plugins": []},
    }
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
        assert all(
            problem.todo for problem in refused(objects, TITLES, {"team-a"}, {"team-a"}, PLATFORM, allow_rights=False)
        )
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
        recorded_releases(cluster), expected_seconds(cluster, ["one"], quiet=False), has_ended_well(cluster, ["one"])
        read_inventory(cluster)
