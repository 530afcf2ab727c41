"""`explain message` as people type it: as words, on standard input, known and not."""

from __future__ import annotations

import io

import pytest

from kubeflow_volcano.validators.__main__ import main

KNOWN = 'container has runAsNonRoot and image will run as root (pod: "a_b", container: main)'


def test_a_known_message_has_its_cause_remedy_and_references(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "message", KNOWN]) == 0
    said = capsys.readouterr().out
    assert "RunsAsRoot" in said
    assert "runAsUser" in said
    assert "CPU-Manager-for-Kubernetes#299" in said


@pytest.mark.parametrize("words", [[], ["-"]])
def test_without_words_standard_input_is_read(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"Events:\n  Warning  Failed  kubelet  Error: {KNOWN}\n"))
    assert main(["explain", "message", *words]) == 0
    assert "RunsAsRoot" in capsys.readouterr().out


def test_what_is_not_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "message", "something", "nobody", "knows"]) == 3
    said = capsys.readouterr().out
    assert "not known" in said
    assert "1." not in said


def test_a_kind_of_error_is_said_to_be_no_more_and_names_whose_the_host_is(capsys: pytest.CaptureFixture[str]) -> None:
    words = 'Post "http://katib-db-manager.kubeflow:6789/x": dial tcp 10.96.0.8:6789: connect: connection refused'
    assert main(["explain", "message", words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("No message ")
    assert "1. ConnectionRefused" in said
    assert "Deployment kubeflow/katib-db-manager (Katib)" in said
    assert "kubectl -n kubeflow logs deployment/katib-db-manager" in said


def test_what_only_followed_from_a_cause_leaves_it_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    words = "Back-off restarting failed container\nthe gate is shut: cannot pass it\n"
    assert main(["explain", "message", words]) == 3
    said = capsys.readouterr().out
    assert "1. BackOff" in said
    assert said.index("the gate is shut") < said.index("1. BackOff")


def test_a_webhook_of_others_is_said_to_be_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    words = 'admission webhook "mpod.kb.io" denied the request: no'
    assert main(["explain", "message", words]) == 0
    said = capsys.readouterr().out
    assert "webhook mpod.kb.io, of no release" in said
    assert "kubectl get validatingwebhookconfigurations" in said


def test_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "message", KNOWN, "--language", "zh"]) == 0
    said = capsys.readouterr().out
    assert "起因" in said
    assert "以 root 运行" in said


def test_secrets_are_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "message", f"{KNOWN} password: hunter2secret \x1b[31m"])
    said = capsys.readouterr().out
    assert "hunter2secret" not in said
    assert "\x1b" not in said


@pytest.mark.parametrize("words", [["  "], [KNOWN, "--json"]])
def test_what_cannot_be_explained_is_refused(words: list[str]) -> None:
    assert main(["explain", "message", *words]) == 2
