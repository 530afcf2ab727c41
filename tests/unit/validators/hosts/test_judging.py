"""Fifty hosts are judged as one, and told in a few lines."""

from __future__ import annotations

import re

from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.hosts.judging import failing, judge_hosts, passing
from tests.samples.hosts import broken, facts, host


def test_hosts_with_the_same_finding_are_one_line() -> None:
    hosts = [host(f"n{number}") for number in range(50)]
    outcome = judge_hosts(
        facts(*hosts),
        lambda one, _: [failing("Wrong", "swap", todo="turn it off.")] if int(one.name[1:]) % 2 else [passing("fine")],
        expected="none",
        holds="fine",
    )
    assert outcome.message == "swap: n1, n3, n5, n7, n9 and 20 more."
    assert [len(row["hosts"]) for row in outcome.observed["findings"]] == [25, 25]
    assert len(outcome.objects) == 25


def test_what_differs_between_hosts_stands_behind_their_names() -> None:
    outcome = judge_hosts(
        facts(host("n1"), host("n2")),
        lambda one, _: [failing("Wrong", "disk", detail=f"{one.name} GB", todo="grow.")],
        expected="",
        holds="",
    )
    assert outcome.message == "disk: n1 (n1 GB), n2 (n2 GB)."
    assert outcome.observed["findings"][0]["details"] == {"n1": "n1 GB", "n2": "n2 GB"}


def test_many_different_findings_are_cut_and_counted() -> None:
    hosts = [host(f"n{number}") for number in range(9)]
    outcome = judge_hosts(
        facts(*hosts), lambda one, _: [failing("Wrong", f"of {one.name}", todo="fix it.")], expected="", holds=""
    )
    assert outcome.message.endswith("of n3: n3; and 5 more findings.")
    assert len(outcome.observed["findings"]) == 9


def test_a_failure_outweighs_what_could_not_be_looked_at() -> None:
    strange = host("n1", swap=None)
    outcome = judge_hosts(
        facts(strange, host("n2")),
        lambda one, found: [
            failing("Wrong", f"{len(found.need('swap').devices)} swaps on {one.name}", todo="turn them off.")
        ],
        expected="",
        holds="",
    )
    assert outcome.status is Status.FAIL
    assert re.search(r"\(swap: .*\): n1", outcome.message)
    assert [ref.name for ref in outcome.objects] == ["n2"]


def test_hosts_that_did_not_answer_are_nobodys_finding() -> None:
    outcome = judge_hosts(
        facts(host("n1"), broken("n2", "reach", "gone")), lambda _, __: [passing("ok")], expected="", holds="ok"
    )
    assert outcome.status is Status.PASS
    assert outcome.message == "ok (1 host)."
