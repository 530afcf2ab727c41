"""The plan reads as sentences, also about one thing."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.rollout.plan import console, markdown
from kubeflow_volcano.rollout.plan.judging import judge_apis
from kubeflow_volcano.rollout.plan.steps import ceded_fields, gang_of, queues_of
from kubeflow_volcano.rollout.settings.settings import parse

BUDGET = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "x", "namespace": "n"}}
FINDING = {"title": "Title", "verdict": "warn", "found": "not all do.", "details": [], "needed": "n.", "todo": "t."}


def document() -> dict[str, Any]:
    image = {"original": "a:1", "final": "a:1", "components": ["one"], "sites": ["x"], "gone": "", "architectures": []}
    steps = [
        {"step": 1, "component": "one", "version": "1.0", "objects": 1, "requires": [], "source": "s"},
        {"step": 2, "component": "other", "version": "1.0", "objects": 12, "requires": [], "source": "s"},
    ]
    asked: dict[str, Any] = dict.fromkeys(("pods", "cpu", "memory_gb", "storage_gb"), 1)
    return {
        "release": "1.9.1",
        "kubernetes": "1.30",
        "verdict": "warn",
        "objects": 13,
        "steps": steps,
        "waves": [{"wave": 1, "objects": 13, "kinds": {}, "awaits": []}],
        "images": {"count": 1, "images": [image]},
        "resources": {**asked, "sidecars": {"pods": 0}, "claims": []},
        "findings": [FINDING],
        "defects": [],
        "hosts": {"note": ""},
        "notes": [],
        "account": {},
        "gang": {
            "scheduler": "none",
            "volcano": None,
            "volcano_preset": None,
            "scheduler_plugins": None,
            "operator_arguments": [],
            "trainer_runtimes": [],
            "podgroups": [],
        },
        "queues": [],
        "teams": [],
        "validation": None,
        "existing": ["cert-manager"],
        "ceded": [{"object": "Deployment n/a", "paths": ["/spec/replicas", "/spec/paused"]}],
        "source": "s",
        "kustomize": "5.0",
    }


def test_one_of_something_is_not_told_as_many() -> None:
    told = console.render(document(), {})
    assert "13 objects, 2 components, 1 wave, 1 image\n" in told
    assert "  1  one    1.0   1 object\n  2  other  1.0  12 objects\n" in told
    assert "one: 1 place " in markdown.render(document())
    assert judge_apis({"knative": [BUDGET]}, "1.25").found.startswith("1 object in API versions")


def test_fields_that_are_left_to_others_are_listed() -> None:
    assert "left to others: Deployment n/a /spec/replicas, /spec/paused\n" in console.render(document(), {})
    assert "## Fields left to others\n" in markdown.render(document())
    assert "| Deployment n/a | /spec/replicas, /spec/paused |" in markdown.render(document())


def test_components_of_others_are_listed_and_their_version_is_not_known() -> None:
    assert "left to others: component cert-manager, which must be there\n" in console.render(document(), {})
    assert "| cert-manager |" in markdown.render(document())
    assert gang_of(parse({}), {})["volcano"] == parse({}).volcano.version
    assert gang_of(parse({"kubeflow_existing": ["volcano"]}), {})["volcano"] is None


def test_a_preset_of_the_scheduler_is_said_where_one_is_chosen() -> None:
    assert gang_of(parse({}), {})["volcano_preset"] is None
    gang = gang_of(parse({"volcano_scheduler_preset": "reclaim-by-weight"}), {})
    assert gang["volcano_preset"] == "reclaim-by-weight"
    for render in (lambda it: console.render(it, {}), markdown.render):
        assert "reclaim-by-weight" in render(document() | {"gang": gang})


def test_the_fields_left_to_others_are_those_of_the_inventory_that_the_manifests_declare() -> None:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 1}}
    asked = [{"kind": "Deployment", "name": "a", "paths": ["/spec/replicas", "/spec/paused"]}]
    found = ceded_fields(parse({"kubeflow_ceded_fields": asked}), {"part": [obj]})
    assert [*found] == [{"object": "Deployment a", "paths": ["/spec/replicas"]}]


def test_an_answer_that_stands_by_itself_begins_as_a_sentence() -> None:
    assert "\nNot all do. Needed: n. Do: t.\n" in markdown.render(document())


def test_queues_that_are_shut_or_go_are_told() -> None:
    asked = [{"name": "a"}, {"name": "b", "state": "closed"}, {"name": "c", "state": "absent"}]
    settings = parse({"volcano_queues": asked, "volcano_queue_drain_seconds": 30})
    found = queues_of(settings, {"volcano": ()})
    assert found == [
        {"queue": "a", "state": "open"},
        {"queue": "b", "state": "closed"},
        {"queue": "c", "state": "absent", "drain_seconds": 30},
    ]
    assert queues_of(settings, {"trainer": ()}) == []
    told = console.render(document() | {"queues": found}, {})
    assert "queue a" not in told
    assert "\nqueue b: closed: takes no new jobs; jobs in it stay\n" in told
    assert "\nqueue c: absent: closed, and deleted once it has no job, for which a run waits 30 s; refused" in told
    page = markdown.render(document() | {"queues": found})
    assert "## Queues\n" in page
    assert "\n| a | open |\n| b | closed: " in page
    assert "## Queues" not in markdown.render(document())


def test_a_validation_on_a_schedule_is_told_with_the_objects_that_it_adds() -> None:
    asked = {"schedule": "0 6 * * *", "image": "r.example.org/kfv:1", "probes": False, "objects": ["CronJob n/a"]}
    planned = document() | {"validation": asked}
    told = "validates itself at 0 6 * * * without probes: 1 object more, image r.example.org/kfv:1"
    assert f"\n{told}\n" in console.render(planned, {})
    assert f"\n- {told}\n" in markdown.render(planned)
    assert "validates itself" not in console.render(document(), {}) + markdown.render(document())
