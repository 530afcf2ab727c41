"""A preflight from hosts to report files, exit codes and repairs."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import jsonschema
import pytest

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.problems import Exit, InvalidInput, Problem, Unreachable
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.inventory import Inventory
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.report.console import render
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.run.preflight import Options, preflight, repairs
from tests.samples.facts import node
from tests.samples.hosts import broken, facts, host, sysctl

LOW: dict[str, Any] = {"sysctls": {"fs.inotify.max_user_instances": sysctl("128")}}
SWAPS: dict[str, Any] = {"swap": {"devices": [{"name": "/dev/dm-1", "type": "partition", "kib": 1}]}}


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


def run(found: Facts, **options: Any) -> Report:
    assert isinstance(found.inventory, Inventory)
    return preflight(
        Options(**({"report_dir": None} | options)), Expectations(release="1.9.1"), found.inventory, silent
    )


def status(report: Report, id_: str) -> Status:
    return next(item.outcome.status for item in report.results if item.check.id == id_)


def test_the_report_has_the_format_of_a_validation_and_files_of_its_own(tmp_path: Path) -> None:
    report = run(facts(host("n1"), host("n2", **SWAPS), broken("n3", "reach", "gone")), report_dir=tmp_path)
    document = json.loads((tmp_path / "preflight-latest.json").read_text("utf-8"))
    schema = json.loads(files("kubeflow_volcano.validators").joinpath("schemas/report.v1.json").read_text("utf-8"))
    jsonschema.validate(document, schema)
    assert document["hosts"] == {
        "asked": ["n1", "n2", "n3"],
        "answered": 2,
        "left_out": [],
        "os": ["openEuler 24.03 (LTS)"],
    }
    markdown = (tmp_path / "preflight-latest.md").read_text("utf-8")
    assert markdown.startswith("# Preflight: fail\n")
    assert "2 of 3 hosts answered" in markdown
    assert report.exit_code is Exit.CHECK_FAILED
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"preflight"}


def test_the_console_shows_hosts_and_no_probes() -> None:
    report = run(facts(host("n1", **SWAPS)))
    shown = render(report.as_dict(), {})
    assert "preflight: 1 of 1 hosts answered (openEuler 24.03 (LTS)), no cluster" in shown
    assert "found     swap is in use: n1 (/dev/dm-1 0.0 GiB)." in shown
    assert "cleanup" not in shown


@pytest.mark.parametrize(
    ("parts", "options", "code"),
    [
        ({}, {}, Exit.OK),
        (SWAPS, {}, Exit.CHECK_FAILED),
        ({"swap": None}, {}, Exit.INCOMPLETE),
        ({"selinux": None}, {}, Exit.OK),
        ({"os": {"id": "arch"}}, {}, Exit.OK),
        ({"os": {"id": "arch"}}, {"strict": True}, Exit.WARNINGS),
        (SWAPS, {"waive": {"P16": "the lab swaps"}}, Exit.OK),
        (SWAPS, {"select": ("kernel-modules",)}, Exit.OK),
    ],
)
def test_exit_codes_are_those_of_the_validation(parts: dict[str, Any], options: dict[str, Any], code: Exit) -> None:
    assert run(facts(host("n1", **parts)), **options).exit_code is code


def test_a_word_that_names_no_check_is_refused() -> None:
    with pytest.raises(InvalidInput, match="mean swap"):
        run(facts(host("n1")), select=("swapp",))


def test_repairs_are_listed_by_host_and_only_for_what_is_wrong() -> None:
    report = run(facts(host("n1"), host("n2", **LOW), host("n3", **LOW, **SWAPS)))
    low = {"kind": "sysctl", "name": "fs.inotify.max_user_instances", "value": "8192"}
    assert repairs(report.results) == {"n2": [low], "n3": [low, {"kind": "swap"}]}


def test_what_will_be_repaired_does_not_stand_in_the_way_and_is_repaired() -> None:
    report = run(facts(host("n1", **LOW)), repair=True)
    assert (report.exit_code, status(report, "P8")) == (Exit.OK, Status.SKIP)
    assert list(repairs(report.results)) == ["n1"]


def test_a_host_that_did_not_answer_stands_in_the_way_of_no_repair() -> None:
    report = run(facts(host("n1", **LOW), broken("n2", "reach", "gone")), repair=True)
    assert (status(report, "P1"), status(report, "P8")) == (Status.FAIL, Status.SKIP)
    assert list(repairs(report.results)) == ["n1"]


def test_what_no_repair_mends_stands_in_the_way_all_the_same() -> None:
    modules: dict[str, Any] = {"modules": {"states": {"overlay": "loadable", "xt_owner": "absent"}, "at_boot": []}}
    report = run(facts(host("n1", **modules)), repair=True)
    assert (report.exit_code, status(report, "P6")) == (Exit.CHECK_FAILED, Status.FAIL)


def test_a_file_that_comes_after_that_of_a_repair_is_left_to_a_person() -> None:
    later: dict[str, Any] = {"sysctls": {"net.ipv4.ip_forward": sysctl("1", ("0", "/etc/sysctl.d/zzz.conf"))}}
    report = run(facts(host("n1", **later)))
    assert (status(report, "P9"), repairs(report.results)) == (Status.WARN, {})


def test_a_waived_finding_is_not_repaired() -> None:
    report = run(facts(host("n1", **SWAPS)), repair=True, waive={"P16": "the lab swaps"})
    assert repairs(report.results) == {}


class Cluster:
    """Answers in place of an API server; what is asked of it beyond that is a mistake."""

    version: ClassVar = {"gitVersion": "v1.30.2"}

    def list(self, _: str, kind: str, **__: str) -> Any:
        nodes = [node("n1", spec={"podCIDR": "10.244.1.0/24"})]
        service = {"metadata": {"name": "kubernetes"}, "spec": {"clusterIP": "10.96.0.1"}}
        return SimpleNamespace(items={"Node": nodes, "Service": [service]}[kind])


def with_kubeconfig(tmp_path: Path) -> Path:
    (tmp_path / "config").touch()
    return tmp_path / "config"


def test_the_cluster_is_asked_where_there_is_a_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kubeflow_volcano.validators.run.preflight.Cluster.connect", lambda *_, **__: Cluster())
    proxy = {"of": "kubelet", "where": "process 7", "name": "HTTPS_PROXY", "value": "http://p:1"}
    found = facts(host("n1", proxies=[proxy]), host("n2"), server="")
    bounds = Expectations(release="1.9.1", kubernetes=MinorRange("1.29", None))
    assert found.inventory
    report = preflight(Options(kubeconfig=with_kubeconfig(tmp_path), report_dir=None), bounds, found.inventory, silent)
    outcomes = {item.check.id: item.outcome for item in report.results}
    messages = {name: outcome.message for name, outcome in outcomes.items()}
    assert messages["P25"] == "v1.30.2 is within 1.29 and later."
    assert [ref.name for ref in outcomes["P26"].objects] == ["n2"]
    assert "its NO_PROXY lacks 10.96.0.1, 10.244.1.0/24, .svc" in messages["P24"]


def test_a_cluster_that_does_not_answer_is_a_finding_and_no_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise Unreachable(Problem("no answer from https://a:6443.", "a server.", "start it."))

    monkeypatch.setattr("kubeflow_volcano.validators.run.preflight.Cluster.connect", unreachable)
    report = run(facts(host("n1")), kubeconfig=with_kubeconfig(tmp_path))
    assert (status(report, "P25"), status(report, "P26")) == (Status.FAIL, Status.SKIP)
    assert report.exit_code is Exit.CHECK_FAILED


def test_nodes_that_may_not_be_listed_could_not_be_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise ApiError(403, "Forbidden", "nodes is forbidden")

    monkeypatch.setattr("kubeflow_volcano.validators.run.preflight.Cluster.connect", lambda *_, **__: Cluster())
    monkeypatch.setattr(Cluster, "list", forbidden)
    report = run(facts(host("n1")), kubeconfig=with_kubeconfig(tmp_path))
    assert status(report, "P26") is Status.ERROR


def test_a_selection_never_hides_that_a_host_did_not_answer() -> None:
    """The checks that are chosen judge only hosts that answered."""
    missing = run(facts(host("n1"), broken("n2", "reach", "gone")), select=("P15",))
    assert {item.check.id for item in missing.results} == {"P1", "P2", "P3", "P15"}
    assert status(missing, "P1") == Status.FAIL
    assert missing.exit_code != 0

    complete = run(facts(host("n1")), select=("P15",))
    assert {item.check.id for item in complete.results} == {"P15"}
