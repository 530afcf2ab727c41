"""What counts as changed, and what a diff shows."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.apply.result import Action, ApplyResult, ObjectOutcome, is_same, without_server_fields
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem


def live(kind: str = "ConfigMap", version: str = "1", **more: Any) -> Object:
    meta = {
        "name": "x",
        "namespace": "n",
        "uid": "u",
        "resourceVersion": version,
        "generation": 3,
        "creationTimestamp": "now",
        "managedFields": [{"manager": "m", "time": version}],
        "annotations": {"deployment.kubernetes.io/revision": version},
    }
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **more}


def result(*outcomes: ObjectOutcome) -> ApplyResult:
    return ApplyResult(outcomes, (), 1.25)


def outcome(action: Action, before: Object | None, after: Object | None) -> ObjectOutcome:
    return ObjectOutcome(Ref("v1", "ConfigMap", "n", "x"), action, before, after)


def test_what_only_the_server_writes_does_not_count() -> None:
    assert is_same(live(version="1", status={"a": 1}), live(version="2", status={"a": 2}))


def test_content_and_identity_count() -> None:
    assert not is_same(live(data={"a": "1"}), live(data={"a": "2"}))
    other = live()
    other["metadata"]["uid"] = "v"
    assert not is_same(live(), other)


def test_labels_and_other_annotations_count() -> None:
    other = live()
    other["metadata"]["annotations"]["mine"] = "1"
    assert not is_same(live(), other)
    assert without_server_fields(other)["metadata"]["annotations"] == {"mine": "1"}


def test_shown_leaves_the_object_alone() -> None:
    obj = live(status={})
    without_server_fields(obj)
    assert obj == live(status={})


def test_a_failure_is_not_buried_under_what_went_well() -> None:
    items = (outcome(Action.CREATED, None, live()), outcome(Action.FAILED, None, None))
    trouble = Problem("a webhook is silent.", "an answer.", "look at it.")
    data = ApplyResult(items, (trouble,), 1.0).as_dict()
    assert [item["action"] for item in data["objects"]] == ["failed"]
    assert [item["action"] for item in ApplyResult(items[:1], (), 1.0).as_dict()["objects"]] == ["created"]


def test_after_a_failure_it_says_which_components_are_finished_and_what_was_held_back_for_what() -> None:
    refs = [Ref("v1", "ConfigMap", "n", name) for name in ("a", "b", "c", "d")]
    made, refused, held, slow = (
        ObjectOutcome(ref, action, None, None, reason, component=component)
        for ref, action, reason, component in zip(
            refs,
            (Action.CREATED, Action.FAILED, Action.HELD, Action.CREATED),
            ("", "no", f"{refs[1]} was refused", ""),
            ("volcano", "katib", "katib", "kserve"),
            strict=True,
        )
    )
    trouble = Problem("a conflict.", "none.", "end it.")
    data = ApplyResult((made, refused, held, slow), (trouble,), 1.0, unready=(slow.ref,)).as_dict()
    assert data["started"]
    assert data["msg"].splitlines()[1:5] == [
        "finished: volcano",
        "not finished: katib (1 failed, 1 held)",
        "not finished: kserve (1 not ready)",
        "held back, because ConfigMap n/b was refused: ConfigMap n/c",
    ]
    assert not ApplyResult((refused, held), (trouble,), 1.0).as_dict()["started"]


def test_diff_has_what_was_created_and_changed_without_noise() -> None:
    before, after = live(data={"a": "1"}), live(version="2", data={"a": "2"})
    entries = result(
        outcome(Action.CREATED, None, after),
        outcome(Action.CHANGED, before, after),
        outcome(Action.UNCHANGED, before, before),
        outcome(Action.FAILED, before, None),
    ).diff()
    assert [bool(entry["before"]) for entry in entries] == [False, True]
    assert entries[1]["before_header"] == "ConfigMap n/x"
    assert "a: '1'" in entries[1]["before"]
    assert "a: '2'" in entries[1]["after"]
    assert "resourceVersion" not in entries[1]["after"]


def test_secrets_are_hidden_and_still_differ() -> None:
    before = live("Secret", data={"same": "c2FtZQ==", "old": "b2xk", "changed": "b25l"})
    after = live("Secret", data={"same": "c2FtZQ==", "new": "bmV3", "changed": "dHdv"}, stringData={"s": "plain"})
    (entry,) = result(outcome(Action.CHANGED, before, after)).diff()
    text = entry["before"] + entry["after"]
    for value in ("c2FtZQ==", "b2xk", "b25l", "bmV3", "dHdv", "plain"):
        assert value not in text
    assert "changed: '[redacted]'\n" in entry["before"]
    assert "changed: '[redacted] (changed)'" in entry["after"]
    assert "same: '[redacted]'\n" in entry["after"]


def test_credentials_outside_of_secrets_are_hidden_and_still_differ() -> None:
    def workload(word: str) -> dict[str, Any]:
        variables = [{"name": "MODE", "value": "fast"}, {"name": "DB_PASSWORD", "value": word}]
        return live(
            data={
                "config.yaml": f"staticPasswords:\n- email: a@b\n  hash: $2y$12${word * 8}{word[:5]}\n  userID: x\n",
                "clientSecret": word,
            },
            spec={"env": variables, "args": [f"--token={word}", "--mode=fast"]},
        )

    before, after = workload("hunt1r"), workload("hunt2r")
    (entry,) = result(outcome(Action.CHANGED, before, after)).diff()
    assert "hunt" not in entry["before"] + entry["after"]
    assert entry["after"].count("(changed)") == 4
    for plain in ("email: a@b", "userID", "value: fast", "--mode=fast", "name: DB_PASSWORD"):
        assert plain in entry["after"].replace("\\n", "\n")


def test_counts_and_summary() -> None:
    made = result(outcome(Action.CREATED, None, live()), outcome(Action.FAILED, None, None))
    assert made.changed
    assert len(made.failed) == 1
    assert made.summary() == "2 objects: 1 created, 0 changed, 0 unchanged, 1 failed, 1.2 s"
    assert not result(outcome(Action.UNCHANGED, live(), live())).changed


def test_a_long_difference_is_cut_and_says_how_to_see_the_rest() -> None:
    def text(*more: str) -> Object:
        names = {f"field{number:05}": "text" for number in range(5000)} | dict.fromkeys(more, "new")
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n"}, "data": names}

    changed, created = result(
        outcome(Action.CHANGED, text(), text("field00002a", "field04000a")), outcome(Action.CREATED, None, text())
    ).diff()
    assert "field00002a: new\n" in changed["after"]
    assert "field04000a: new\n" in changed["after"]
    assert "field00002a" not in changed["before"]
    assert (changed["before"] + changed["after"]).count("\n") < 50
    assert created["before"] == ""
    assert created["after"].count("\n") < 200
    assert "(kubectl get ConfigMap x -n n -o yaml)" in created["after"]


def test_the_difference_of_many_objects_is_bounded_and_names_each() -> None:
    names = {f"field{index}": "text" for index in range(300)}
    text = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": names}
    entries = result(*(outcome(Action.CREATED, None, text) for _ in range(300))).diff()
    assert len(entries) == 300
    assert sum(entry["after"].count("\n") for entry in entries) < 6000
    assert all("more line" in entry["after"] for entry in entries)


def test_little_is_shown_whole() -> None:
    before = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "1", "b": "2"}}
    (entry,) = result(outcome(Action.CHANGED, before, {**before, "data": {"a": "1", "b": "3"}})).diff()
    assert "b: '2'" in entry["before"]
    assert "name: x" in entry["before"]
    assert "…" not in entry["after"]
