"""What all scenarios share: the record, the picture that must last, tables, pictures and the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.gang_demo.catalogue import CASES, NAMES, describe, require_kinds, select_cases
from kubeflow_volcano.gang_demo.model import Outcome
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.play.limits import LIMITS
from kubeflow_volcano.gang_demo.play.running import count_free_gpus
from kubeflow_volcano.gang_demo.play.stand import Stand
from kubeflow_volcano.gang_demo.show.picture import draw
from kubeflow_volcano.gang_demo.show.report import read, side_by_side, write
from kubeflow_volcano.problems import InvalidInput, NotWritten
from kubeflow_volcano.progress import silent
from tests.pages.scenarios import DIRECTORY, PAGE
from tests.places import ROOT
from tests.samples.histories import pod


def outcome(case: str = "source-default", **more: object) -> Outcome:
    events = (
        {"at": "2026-01-01T00:00:00Z", "name": "w-0", "event": "created", "what": "created"},
        {"at": "2026-01-01T00:00:02Z", "name": "w-0", "event": "bound", "what": "bound to node gpu-1"},
        {"at": "2026-01-01T00:00:03Z", "name": "g", "event": "phase", "what": "phase Running"},
    )
    whole = Outcome("source", case, "first", control=True, problem="", seconds=4.2, events=events, groups=("g",))
    shown = replace(whole, heads=("POD", "NODE"), rows=(("w-0", "gpu-1*"),), lines=("PodGroup Running",))
    return replace(shown, figures={"bound": "1"}, versions={"Kubernetes": "1.30.2"}, **more)  # type: ignore[arg-type]


class TestSettling:
    """Only a picture that lasts counts."""

    @staticmethod
    def settle(*changes: Change, wrong: str = "", seconds: float = 0.3) -> str:
        """What comes of waiting until `a` has a node, for a tenth of a second."""

        def told() -> Iterator[Change | None]:
            yield from changes
            while not deadline.passed:
                yield None

        deadline = Deadline(seconds)
        nobody = cast("Cluster", None)
        stand = Stand(nobody, CASES[0], cast("Session", None), deadline, silent)
        record = History(nobody, "n", "", told())
        return stand.settle(record, lambda: record.bound() == ("a",), lambda: wrong if record.bound() else "", 0.1)

    BOUND = Change(Subject("v1", "Pod", "n"), "ADDED", (pod("a", node="n"),), 0.0)
    GONE = Change(Subject("v1", "Pod", "n"), "DELETED", (pod("a", node="n"),), 0.0)

    def test_what_stands_for_its_time_is_as_claimed(self) -> None:
        assert self.settle(self.BOUND, seconds=5) == ""

    def test_what_passes_is_not(self) -> None:
        ended = pod("a", node="n", phase="Succeeded")
        gone = [replace(self.BOUND, type=kind, objects=(ended,)) for kind in ("MODIFIED", "DELETED")]

        assert "not settled" in self.settle(self.BOUND, *gone)

    def test_what_somebody_else_ended_ends_it_at_once(self) -> None:
        assert "from outside" in self.settle(self.BOUND, self.GONE, seconds=60)

    def test_what_does_not_come_is_not(self) -> None:
        assert "0 pods" in self.settle()

    def test_what_contradicts_it_ends_it_at_once(self) -> None:
        assert self.settle(self.BOUND, wrong="others did it", seconds=60) == "others did it"


class TestShowing:
    """Tables, pictures, files."""

    def test_tables_stand_side_by_side_and_name_what_is_not_as_claimed(self) -> None:
        unsure = outcome(title="third", problem="the watch broke off", judged=False)
        text = side_by_side([outcome(), outcome(title="second", problem="too many", rows=()), unsure])

        assert text.splitlines()[0].split() == ["first", "second", "third"]
        assert "w-0  gpu-1*" in text
        assert "(none)" in text
        assert "as claimed (4 s)" in text
        assert "NOT as claimed: too" in text
        assert f"inconclusive: {unsure.problem}" in text
        assert not [line for line in text.splitlines() if line != line.rstrip()]

    def test_what_need_not_hold_is_shown_with_its_reason_and_is_no_failure(self) -> None:
        found = outcome(problem="1 pod evicted", limit="it looks at one pod")

        assert found.verdict == f"NOT as claimed: {found.problem} ({found.limit})"
        assert found.is_expected
        assert replace(found, problem="").verdict == "as claimed"
        assert not replace(found, judged=False).is_expected
        assert not replace(found, limit="").is_expected

    def test_of_many_cases_three_stand_abreast(self) -> None:
        heads = [f"case-{number}" for number in range(5)]
        lines = side_by_side([outcome(title=head) for head in heads]).splitlines()

        assert [line.split() for line in lines if line.startswith("case-")] == [heads[:3], heads[3:]]

    def test_the_picture_has_every_case_with_a_bar_for_each_stretch_of_time(self) -> None:
        broken = outcome(title="<second>", problem="it broke off", events=())
        root = ET.fromstring(draw([outcome(), broken]))  # noqa: S314  our own text
        texts = [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]
        kinds = [item.get("class") for item in root.iter("{http://www.w3.org/2000/svg}rect")]

        assert {"first", "<second>", "w-0", "PodGroup g", "no events"} <= set(texts)
        assert kinds[-3:] == ["waiting", "bound", "phase"]

    def test_what_is_written_is_what_was_seen(self, tmp_path: Path) -> None:
        plain = json.loads(json.dumps([asdict(outcome("source-gang-fits")), asdict(outcome())]))
        files = write(read(plain), tmp_path / "reports")
        document = json.loads(Path(files[0]).read_text("utf-8"))

        assert [Path(item).name for item in files] == ["gang-demo.json", "gang-demo-source.svg"]
        assert [item["case"] for item in document["outcomes"]] == ["source-default", "source-gang-fits"]
        assert document["schema"] == "kfv.scenarios/v1"

    def test_a_place_that_cannot_be_written_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")

        with pytest.raises(NotWritten, match="cannot be written"):
            write({"source": [outcome()]}, tmp_path / "file")


class TestCatalogue:
    """Which scenarios there are."""

    def test_each_has_a_control_and_a_run_with_gang_scheduling_and_says_what_it_shows(self) -> None:
        for name in NAMES:
            assert {case.control for case in CASES if case.scenario == name} == {True, False}, name
            assert len(describe(name)) > 100

    def test_names_of_cases_begin_with_their_scenario_and_differ(self) -> None:
        assert len({case.name for case in CASES}) == len(CASES)
        assert [case.name for case in CASES if not case.name.startswith(f"{case.scenario}-")] == []

    def test_what_need_not_hold_is_said_of_cases_that_can_be_played(self) -> None:
        assert [
            (scheduler, name)
            for scheduler, name in LIMITS
            if name not in {case.name for case in select_cases([], scheduler)}
        ] == []

    def test_manifests_lie_in_namespaces_of_the_given_name(self) -> None:
        for case in CASES:
            found = [item["metadata"].get("namespace") for item in case.manifest("demo")]
            assert found, case.name
            assert [name for name in found if name and not name.startswith("demo")] == [], case.name

    def test_an_unknown_name_is_refused_with_those_that_are_known(self) -> None:
        with pytest.raises(InvalidInput, match=r"two-job.*source"):
            select_cases(["two-job"])
        assert {case.scenario for case in select_cases(["two-jobs"])} == {"two-jobs"}
        assert select_cases([]) == CASES


def test_scenarios_are_refused_where_their_kinds_of_jobs_are_not_served(api: Any) -> None:
    def serve(*kinds: str) -> Cluster:
        resources = [{"kind": kind, "name": kind.lower(), "namespaced": True} for kind in kinds]
        api.on("GET", "/apis/kubeflow.org/v1", api.reply(body={"resources": resources}))
        return cast("Cluster", api.connect())

    with pytest.raises(InvalidInput, match=r"TFJob.*\(vcjob, queues, preemption, pipelines\)"):
        require_kinds(serve("Notebook"), CASES)
    require_kinds(serve(), select_cases(["vcjob", "queues"]))
    require_kinds(serve("TFJob", "PyTorchJob"), CASES)  # there need not be each kind of job-kinds


def test_only_ready_nodes_offer_gpus_and_ended_pods_hold_none() -> None:
    ready = [{"type": "Ready", "status": "True"}]
    node = {"status": {"allocatable": {"nvidia.com/gpu": "2"}, "conditions": ready}}
    new = node | {"spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}}
    holder = {
        "spec": {"nodeName": "gpu-1", "containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]},
        "status": {"phase": "Running"},
    }
    done = holder | {"status": {"phase": "Succeeded"}}

    assert count_free_gpus([node, node, new, {"status": {"conditions": []}}], [holder, done]) == 3


def kept() -> dict[str, Any]:
    """The outcomes that the page was made of."""
    found: dict[str, Any] = json.loads((ROOT / DIRECTORY / "outcomes.json").read_text("utf-8"))
    return found


class TestPage:
    """docs/scenarios.md."""

    def test_it_has_every_case_as_claimed(self) -> None:
        assert {item["case"]: item["problem"] for item in kept()["outcomes"]} == {case.name: "" for case in CASES}

    @pytest.mark.parametrize("name", NAMES)
    def test_its_pictures_show_every_case(self, name: str) -> None:
        text = (ROOT / DIRECTORY / f"{name}.svg").read_text("utf-8")

        assert [case.title for case in CASES if case.scenario == name and case.title not in text] == []

    def test_its_links_lead_somewhere(self) -> None:
        text = (ROOT / PAGE).read_text("utf-8")
        links = re.findall(r"\]\(([^)#]+)\)", text)

        assert [link for link in links if not (ROOT / "docs" / link).resolve().exists()] == []
        assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(re.findall(r"^## (.+)$", text, re.MULTILINE))
