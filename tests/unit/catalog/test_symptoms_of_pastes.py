"""What a pasted text shows, wherever its lines are from."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.symptoms.paste import alike, shown_by, unexplained
from kubeflow_volcano.catalog.symptoms.read import symptoms

DESCRIBED = """\
Events:
  Type     Reason       Age                From     Message
  ----     ------       ----               ----     -------
  Warning  BackOff      3m                 kubelet  Back-off restarting failed container main in pod a_b(c)
  Warning  FailedMount  2m (x9 over 12m)   kubelet  MountVolume.SetUp failed for volume "x" : secret "y" not found
"""
FAILED = (
    'fatal: [gpu-1]: FAILED! => {"changed": false, "msg": "non-zero return code", "stderr": "W1129 warning\\nThe '
    'connection to the server localhost:8080 was refused - did you specify the right host or port?", "rc": 1}'
)
WRAPPED = 'container has runAsNonRoot and image\nwill run as root (pod:\n"a_b")'


def ids(text: str) -> list[str]:
    return [item.symptom.id for item in shown_by(text)]


def test_nearly_all_examples_are_recognised_without_the_place_where_they_were_seen() -> None:
    right = [item for item in symptoms() if ids(item.example)[:1] == [item.id]]
    assert len(right) >= 0.97 * len(symptoms())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DESCRIBED, ["mount-secret-missing"]),
        (DESCRIBED.partition("  Warning  FailedMount")[0], ["back-off"]),
        (FAILED, ["kubeconfig-missing"]),
        (WRAPPED, ["run-as-root"]),
        ("", []),
        ("nothing that is known\n" * 1000, []),
        # Patterns of a place that is about nothing else say little elsewhere: what is left is the kind of the error.
        ("dial tcp 10.0.0.9:5000: connect: no route to host", ["any-no-answer"]),
        ("field selector not supported", ["any-unsupported"]),
    ],
)
def test_the_lines_that_say_something_are_found(text: str, expected: list[str]) -> None:
    assert ids(text) == expected


def test_of_two_symptoms_of_a_line_the_one_counts_that_more_of_it_speaks_for() -> None:
    line = 'unable to recognize "STDIN": no matches for kind "Profile" in version "kubeflow.org/v1beta1"'
    assert ids(line) == ["no-matches-for-kind"]
    assert ids(line.replace("kubeflow.org", "apiextensions.k8s.io")) == ["api-version-removed"]


def test_words_that_are_shared_are_a_hint_and_few_are_none() -> None:
    near = alike("the kubelet has no room as images fill the disk, and no unused image is left")
    assert near
    assert near[0].id == "image-collection"
    assert not alike("the weather is fine in Hangzhou today")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('Post "http://a.b:80/x": dial tcp 10.0.0.9:80: connect: connection refused', "a.b:80"),
        ("dial tcp 10.0.0.9:6789: connect: connection refused", "10.0.0.9:6789"),
        ("connect ECONNREFUSED 10.0.0.9:5432", "10.0.0.9:5432"),
        ("requests.ConnectionError: HTTPConnectionPool(host='store', port=80): refused", "store"),
        # Neither the time of day nor the place in the source is an address.
        ("E0522 19:33:05.207416 7 cache.go:1022] the caches: timed out", "the caches"),
    ],
)
def test_kinds_of_errors_name_the_address(text: str, cause: str) -> None:
    (shown,) = shown_by(text)
    assert shown.is_kind
    assert cause in shown.symptom.cause
    assert "1022 does not answer" not in shown.symptom.cause


def test_the_stronger_of_two_kinds_comes_first_wherever_it_is() -> None:
    text = "dial tcp 10.0.0.9:80: connect: connection refused\nlost connection to the broker\n"
    assert ids(text) == ["any-refused", "any-connection"]


@pytest.mark.parametrize(
    ("text", "expected", "line"),
    [
        # What only says that something ended yields to the kind of an error in another line, and not to one in its own.
        ("Back-off restarting failed container\nopen /a: permission denied", ["permission-denied"], ""),
        ("Back-off restarting failed container\nmethod not implemented", ["any-unsupported"], ""),
        (
            "Unable to attach or mount volumes: unmounted volumes=[a], : timed out waiting for the condition",
            ["mount-timeout"],
            "",
        ),
        # Where nothing else is known, the line that says more is named, also where it says what came of it as well.
        (
            "Back-off restarting failed container\nthe gate is shut: cannot pass it",
            ["back-off"],
            "the gate is shut: cannot pass it",
        ),
        (
            "the gate is shut: cannot pass it: exit status 3",
            ["any-exit-code"],
            "the gate is shut: cannot pass it: exit status 3",
        ),
        ("job failed: command terminated with exit code 3", ["any-exit-code"], ""),
    ],
)
def test_what_only_followed_from_a_cause_is_not_taken_for_it(text: str, expected: list[str], line: str) -> None:
    shown = shown_by(text)
    assert [item.symptom.id for item in shown] == expected
    assert unexplained(text, shown) == line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What a program does not call an error counts where nothing else does.
        (
            'I0102 03:04:05.6 1 a.go:7] x.batch "a" not found\nE0102 03:04:05.6 1 a.go:8] permission denied',
            "any-permission",
        ),
        ('time=x level=info msg="exited with code 3"', "any-exit-code"),
        # A notice does not stand before an error.
        ("client-side throttling\npermission denied", "any-permission"),
    ],
)
def test_errors_count_before_what_a_program_only_tells(text: str, expected: str) -> None:
    assert ids(text) == [expected]


def test_the_pattern_counts_that_names_most() -> None:
    text = "java.net.UnknownHostException: store.team-a.svc: Temporary failure in name resolution"
    (shown,) = shown_by(text)
    assert "store.team-a.svc" in shown.symptom.cause


@pytest.mark.parametrize(
    "text",
    [
        "insufficient authentication information provided",
        "AdmissionGated",
        "Failed to init TaintToleration plugin",
        "Namespace a is not allowed to run v1 pipelines",
        "Invalid state <Aborting> of Job <a/b>",
        "Pod deleted, cleaning up cache",
        "Waiting for caches to sync for RequestHeader",
        "plugins.mlflow timeout must be > 0",
        "Try to update podgroup for pod a",
    ],
)
def test_messages_of_other_programs_are_not_taken_for_a_known_one(text: str) -> None:
    assert shown_by(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        # Names that have the word registry, image, user or session in them say nothing of images or of SSH.
        "model-registry: dial tcp 10.0.0.9:3306: connect: connection refused",
        "the image has no shell: /bin/sh not found",
        "dbus: connection closed by user",
        "StreamAggregatedResources gRPC config stream closed: 13",
    ],
)
def test_a_word_of_a_place_is_no_message_of_that_place(text: str) -> None:
    assert all(item.is_kind for item in shown_by(text))


def test_what_a_pattern_names_counts_and_not_what_it_takes_along() -> None:
    line = (
        'level=fatal msg="no runtime: rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"'
    )
    assert ids(line) == ["runtime-without-cri"]


@pytest.mark.parametrize("start", ["\x1b[31m", "\\u001b[1;31m", "\\x1b[0m\x1b[1m"])
def test_colours_of_a_terminal_are_no_words(start: str) -> None:
    assert ids(f"{start}ncclUnhandledCudaError: Call to CUDA function failed.\x1b[0m") == ["nccl-kind"]
