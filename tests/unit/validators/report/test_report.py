"""The report document and what is made of it: valid, safe to show, whole on disk."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.remains import Cleanup, Tracked
from kubeflow_volcano.problems import Exit
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.outcome import Finding, Outcome, Status, failed, passed, skipped
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.core.safe import LONGEST_EVIDENCE, safe, text
from kubeflow_volcano.validators.report import console, files, html, markdown
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.subjects.pods import WINDOW, Window
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS, SimulatedWebhook
from tests.samples.facts import facts, node, pod, ref

SCHEMA = json.loads(resources("kubeflow_volcano.validators").joinpath("schemas/report.v1.json").read_text())
HOSTILE = "<script>alert(1)</script>\x1b[31m red\x1b[0m ]]> | `rm` \u202e \x00" + "x" * 1_000_000


def outcome(status: str) -> Outcome:
    if status == "pass":
        return passed("all is well", objects=(ref("Node", "n1"),))
    if status == "skip":
        return skipped("NotExpected", "nobody asks for it")
    return Outcome(
        Status(status), "Bad", "it is bad", "good", {"a": 1}, (ref("Pod", "default/p"),), "mend it", ("kubectl x",)
    )


def report(*outcomes: Outcome, **fields: Any) -> Report:
    results = [Result(item, found, 1.0, 0.01) for item, found in zip(CHECKS, outcomes, strict=False)]
    known = facts(
        node(metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}}), pod("default/p"), known={WINDOW: Window(10)}
    )
    return Report(
        "0123abcd", {"read_only": False}, "kubeconfig a", "1.9.1", "given", 1.0, 43.0, 42.0, results, known, **fields
    )


def all_kinds() -> Report:
    return report(*(outcome(status) for status in ("pass", "warn", "fail", "skip", "error")))


def problems(document: dict[str, Any]) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(document)]


def test_the_schema_is_one_and_closed() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    document = all_kinds().as_dict()
    assert problems(document) == []
    document["checks"][0]["surprise"] = 1
    assert problems(document) != []


def test_a_failure_without_a_remedy_is_refused_by_the_schema() -> None:
    document = all_kinds().as_dict()
    document["checks"][2]["remediation"]["text"] = ""
    assert len(problems(document)) == 1


def test_checks_are_in_natural_order_and_counts_add_up() -> None:
    found = all_kinds()
    found = replace(found, results=tuple(reversed(found.results)))
    document = found.as_dict()
    assert [item["id"] for item in document["checks"]] == [item.id for item in CHECKS[:5]]
    summary = document["summary"]
    assert (summary["planned"], summary["evaluated"], summary["coverage"]) == (5, 3, 0.75)


def test_two_reports_of_the_same_findings_are_equal() -> None:
    assert all_kinds().as_dict() == all_kinds().as_dict()


def test_what_is_simulated_is_told_everywhere() -> None:
    document = all_kinds().as_dict()
    assert (document["cluster"]["simulated_nodes"], document["cluster"]["simulated_pods"]) == (1, 1)
    assert "simulated: 1 of 1 nodes and 1 of 1 pods" in console.render(document, {})
    assert "simulated: 1 of 1 nodes and 1 of 1 pods" in markdown.render(document)


def test_webhooks_that_the_rehearsal_answers_are_counted_on_the_console_and_named_in_the_files() -> None:
    found = all_kinds()
    assert found.facts
    hooks = tuple(SimulatedWebhook("MutatingWebhookConfiguration", f"hook-{n}", ("a", "b"), ()) for n in range(30))
    document = replace(found, facts=replace(found.facts, found={SIMULATED_WEBHOOKS: hooks})).as_dict()

    assert problems(document) == []
    assert document["cluster"]["simulated_webhooks"][29]["webhooks"] == ["a", "b"]
    assert "answers 60 webhooks of 30 objects" in console.render(document, {})
    assert "hook-29" not in console.render(document, {})
    assert "| MutatingWebhookConfiguration | hook-29 | 2 |" in markdown.render(document)


def test_skipped_checks_are_counted_by_reason_before_the_findings() -> None:
    document = report(*(skipped("NotExpected", "no Trainer") for _ in range(3)), outcome("fail")).as_dict()
    marks = [line.split()[:2] for line in console.render(document, {}).splitlines() if line.startswith((" -", " ✗"))]
    assert marks == [["-", "3"], ["✗", CHECKS[3].id]]


@pytest.mark.parametrize("columns", [60, 200])
def test_lines_of_the_console_end_where_the_terminal_does(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    long = Outcome(Status.FAIL, "Bad", "this pod waits " * 20, todo="mend it " * 20, commands=("kubectl x " * 20,))
    lines = console.render(report(long).as_dict(), {}).splitlines()
    assert max(len(line) for line in lines if "$" not in line) in range(columns - 15, columns + 1)
    assert any(line.endswith("kubectl x " * 20) for line in lines)


def test_each_remedy_stands_beside_the_objects_that_it_is_for() -> None:
    refs = [Ref("v1", "Pod", "a", f"p{number}") for number in range(6)]
    findings = (
        Finding(tuple(refs[:5]), tuple(f"{ref} is bad." for ref in refs[:5]), ("It is Ada's.",) * 5, "mend it"),
        Finding((refs[5],), (f"{refs[5]} is worse.",), ("",), "replace it", ("kubectl look",)),
    )
    bad = Outcome(Status.FAIL, "Bad", "flat", todo="flat", objects=tuple(refs), findings=findings)
    lines = [line.split(maxsplit=1) for line in console.render(report(bad).as_dict(), {}).splitlines()]
    words = [first for first, *_ in lines if first in {"found", "do", "look"}]
    assert words == ["found", "do", "found", "do", "look"]
    text = " ".join(word for line in lines for word in line)
    assert (text.count("Ada"), text.count("flat")) == (1, 0)
    assert all(ref.name in text for ref in refs)


def test_the_console_says_found_needed_and_do_failures_last() -> None:
    lines = console.render(all_kinds().as_dict(), {"json": "out/latest.json"}).splitlines()
    order = [line.split()[1] for line in lines if line.startswith((" ✗", " ?", " !"))]
    assert order == [CHECKS[1].id, CHECKS[4].id, CHECKS[2].id]
    assert any(line.strip() == "found     it is bad" for line in lines)
    assert any(line.strip() == "do        mend it" for line in lines)
    assert lines[-1] == "report  out/latest.json"
    assert [line for line in lines if line.startswith(" ")][-1].endswith("$ kubectl x")


def test_findings_of_one_kind_are_told_in_order_of_their_ids() -> None:
    bad = [Outcome(Status.FAIL, "Bad", f"found {number}", todo="mend it") for number in range(3)]
    lines = console.render(report(*bad).as_dict(), {}).splitlines()
    assert [line.split()[1] for line in lines if line.startswith(" ✗")] == [item.id for item in CHECKS[:3]]


def test_the_console_and_the_markdown_say_what_became_of_earlier_findings() -> None:
    before = report(*(outcome(status) for status in ("fail", "warn", "pass"))).as_dict()
    document = report(*(outcome(status) for status in ("pass", "warn", "fail")), baseline=before).as_dict()
    first, second, third = (f"{item.id} {item.slug}" for item in CHECKS[:3])
    shown = console.render(document, {})
    assert f"new: {third}; still there: {second}; fixed: {first}" in " ".join(shown.split())
    rendered = markdown.render(document)
    for told in (f"- new: {third}", f"- still there: {second}", f"- fixed: {first}"):
        assert told in rendered
    assert "Compared" not in markdown.render(before)


def test_requests_that_were_sent_again_are_told() -> None:
    found = all_kinds()
    assert "retried" not in console.render(found.as_dict(), {})
    found = replace(found, retries=7)
    assert "retried: 7 requests" in console.render(found.as_dict(), {})


def test_every_format_lists_the_problems_of_the_roll_out_before_and_no_verdict_changes() -> None:
    found = report(
        passed("all well", objects=(ref("Node", "n1"),)),
        rollout_problems=("Deployment kubeflow/training-operator was refused.",),
    )
    document = found.as_dict()
    assert not problems(document)
    line = "The roll-out before ended with 1 problem: Deployment kubeflow/training-operator was refused."
    page = html.render(document, {})
    for shown in (console.render(document, {}), markdown.render(document), page):
        assert line in shown
    assert found.exit_code is report(passed("all well", objects=(ref("Node", "n1"),))).exit_code
    assert "rollout_problems" not in report(passed("all well", objects=(ref("Node", "n1"),))).as_dict()["run"]


def test_colour_is_only_where_it_is_asked_for() -> None:
    document = all_kinds().as_dict()
    assert "\x1b" not in console.render(document, {})
    assert "\x1b[31m" in console.render(document, {}, colour=True)


def test_one_cause_for_many_checks_is_told_once() -> None:
    same = Outcome(Status.ERROR, "Unreachable", "no answer", todo="start it")
    document = report(same, same, same).as_dict()
    assert console.render(document, {}).count("no answer") == 1
    assert markdown.render(document).split("## All checks")[0].count("no answer") == 1


def test_the_markdown_begins_with_ten_lines_at_most() -> None:
    head = markdown.render(all_kinds().as_dict()).split("\n\n")[0].splitlines()
    assert head[0] == "# Validation: fail"
    assert len(head) <= 10


def test_reasons_of_skips_are_words_the_most_frequent_first() -> None:
    skips = [skipped(reason, "m") for reason in ("NoObjects", "NotExpected", "NotExpected")]
    document = report(*skips).as_dict()
    assert "- skipped: 2 not expected, 1 no objects" in markdown.render(document).splitlines()


@pytest.mark.fault(43)
def test_hostile_text_is_escaped_and_cut() -> None:
    found = failed(
        "Bad",
        HOSTILE,
        todo=HOSTILE,
        observed={HOSTILE: HOSTILE},
        commands=[HOSTILE],
        changes=[HOSTILE],
        evidence={"../a": HOSTILE},
    )
    document = report(found).as_dict()
    assert problems(document) == []
    everything = json.dumps(document, ensure_ascii=False)
    assert len(everything) < 60_000
    for character in ("\x1b", "\x00", "\u202e"):
        assert character not in everything
    rendered = markdown.render(document)
    assert "<script>" not in re.sub(r"`[^`\n]*`", "", rendered)
    assert all(row.replace("\\|", "").count("|") == 6 for row in rendered.splitlines() if row.startswith("| "))
    assert "\x1b" not in console.render(document, {})


SECRETS = (
    "password: hunter2hunter2",
    "eyJhbGciOiJSUzI1NiJ9.eyJodW50ZXIyIjoxfQ.hunter2hunter2",
    "eyJhdXRocyI6eyJyIjp7ImF1dGgiOiJodW50ZXIyIn19fQhunter2==",
    "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkhunter2",
    "a key LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkhunter2 in a Secret",
    "ghp_hunter2hunter2hunter2hunter2hunter2",
    "glpat-hunter2hunter2hunter2",
    "xoxb-hunter2hunter2hunter2",
    "hf_hunter2hunter2hunter2hunter2",
    "sk-proj-hunter2hunter2hunter2hunter2",
    "hash $2y$12$hunter2hunter2hunter2hunter2hunter2hunter2hunter2hunt",
)
"""Credentials by their form; `tests/samples/redaction.yaml` has those that a name beside them gives away."""


@pytest.mark.fault(44)
def test_planted_secrets_reach_no_report(tmp_path: Path) -> None:
    for number, secret in enumerate(SECRETS):
        found = failed(
            "Bad", secret, expected=secret, todo=secret, observed={"env": [secret], "nested": {"a": secret}},
            commands=[secret], changes=[secret], evidence={"log": f"line\n{secret}\nline"},
        )  # fmt: skip
        bad = report(found, cleanup=Cleanup((), (), (Tracked(ref("Pod", "default/p"), "u", secret),), (), 0.0))
        bad = replace(bad, arguments={"waive": {"A1": secret}}, origin=secret)
        folder = tmp_path / str(number)
        files.write(bad, folder)
        written = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
        assert "hunter2" not in written + console.render(bad.as_dict(), {}), secret
        assert "[redacted]" in written
        assert "eyJodW50ZXIyIjoxfQ" not in written


def test_a_line_without_end_keeps_nobody_waiting() -> None:
    pieces = ("x", "a-", "a.", "-----BEGIN ", "eyJ", "a://", " -u a", " --a-", "password ", "token=", '"auth":"')
    for piece in (*pieces, "bearer ", "\x1b]"):
        started = time.process_time()
        assert len(text(piece * (40_000 // len(piece)), LONGEST_EVIDENCE)) <= LONGEST_EVIDENCE
        assert time.process_time() - started < 2, piece  # more than linear would be many times that


@pytest.mark.fault(44)
def test_values_of_secret_names_are_hidden_and_names_and_plain_words_stay() -> None:
    variables = [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "MODE", "value": "fast"}]
    assert safe({"env": variables, "password": "abc", "count": 3, "name": "secret-agent"}) == {
        "env": [{"name": "DB_PASSWORD", "value": "[redacted]"}, variables[1]],
        "password": "[redacted]",
        "count": 3,
        "name": "secret-agent",
    }
    assert text("the Secret kubeflow/mysql-secret exists") == "the Secret kubeflow/mysql-secret exists"


def test_reports_are_written_whole_under_their_own_name_and_as_latest(tmp_path: Path) -> None:
    found = all_kinds()
    files.write(found, tmp_path / "a" / "b")
    names = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    stems = ("19700101T000001Z-0123abcd", "latest")
    assert names == [f"{stem}.{kind}" for stem in stems for kind in ("html", "json", "md", "xml")]
    assert json.loads((tmp_path / "a" / "b" / "latest.json").read_text()) == found.as_dict()
    assert not (tmp_path / "a" / "b" / "latest.json").is_symlink()


def test_evidence_is_kept_beside_the_report_and_cannot_leave_it(tmp_path: Path) -> None:
    found = report(failed("Bad", "m", todo="t", evidence={"../../x/log": "the end"}))
    files.write(found, tmp_path)
    (path,) = found.as_dict()["checks"][0]["evidence"]
    assert (tmp_path / path).read_text() == "the end"
    assert tmp_path in (tmp_path / path).resolve().parents


def test_a_report_that_cannot_be_written_shows_in_the_exit_code_and_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found = files.write(report(outcome("pass")), tmp_path / "file" / "reports")
    assert found.exit_code == Exit.REPORT_NOT_WRITTEN
    assert "--report-dir" in str(found.unwritten)
    assert console.render(found.as_dict(), found.files).startswith("kubeflow-volcano")


def test_a_full_disk_leaves_the_old_report_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The full disk is feigned at fsync: a real one takes a mount of its own."""
    files.write(report(outcome("pass")), tmp_path)
    before = (tmp_path / "latest.json").read_bytes()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    second = files.write(report(outcome("fail")), tmp_path)
    assert (tmp_path / "latest.json").read_bytes() == before
    assert second.exit_code == Exit.REPORT_NOT_WRITTEN
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_leftovers_are_named() -> None:
    left = Tracked(Ref("v1", "Namespace", "", "kfv-smoke-1"), "uid-1", "finalizer x")
    document = report(outcome("pass"), cleanup=Cleanup((left,), (), (left,), (), 0.0)).as_dict()
    assert problems(document) == []
    assert "left behind: Namespace kfv-smoke-1 (finalizer x)" in console.render(document, {})


def test_reports_follow_the_umask(tmp_path: Path) -> None:
    found = report(failed("Bad", "m", todo="t", evidence={"log": "the end"}))
    before = os.umask(0o027)
    try:
        files.write(found, tmp_path)
    finally:
        os.umask(before)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 9
    assert {path.stat().st_mode & 0o777 for path in written} == {0o640}


def test_one_of_a_kind_is_singular() -> None:
    document = report(outcome("warn"), outcome("pass")).as_dict()
    assert "1 warning, 1 passed (coverage 100%)" in console.render(document, {})
    assert "- 2 checks: 1 warning, 1 passed (coverage 100%)" in markdown.render(document)
