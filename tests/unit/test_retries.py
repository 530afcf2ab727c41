"""What passes is repeated, after the pause that the server demands; what does not pass is told at once."""

from __future__ import annotations

import datetime as dt
import errno
import socket
import ssl
import urllib.error
from email.message import Message
from email.utils import format_datetime
from http.client import IncompleteRead
from pathlib import Path
from types import SimpleNamespace

import pytest

from kubeflow_volcano import retries
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.retries import naming_full_disks, retry_after_seconds, with_retries


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(retries, "time", SimpleNamespace(time=lambda: 0.0))
    monkeypatch.setattr(Deadline, "pause", lambda _deadline, seconds: found.append(seconds))
    return found


def refusal(code: int, **headers: str) -> urllib.error.HTTPError:
    message = Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return urllib.error.HTTPError("http://a/b", code, "No", message, None)


def tried(*answers: Exception | str, deadline: Deadline | None = None) -> str:
    left = list(answers)

    def read() -> str:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    try:
        return with_retries(read, deadline or Deadline(600), silent)
    finally:
        for answer in answers:
            if isinstance(answer, urllib.error.HTTPError):
                answer.close()


@pytest.mark.parametrize(
    "trouble", [refusal(429), refusal(500), refusal(503), refusal(408), IncompleteRead(b""), ConnectionResetError()]
)
def test_what_may_pass_is_repeated(pauses: list[float], trouble: Exception) -> None:
    assert tried(trouble, trouble, "text") == "text"
    first, second = pauses
    assert 0.25 <= first <= 0.75
    assert 0.5 <= second <= 1.5


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410])
def test_what_does_not_pass_is_raised_at_once(pauses: list[float], code: int) -> None:
    with pytest.raises(urllib.error.HTTPError, match=str(code)):
        tried(refusal(code))
    assert pauses == []


@pytest.mark.parametrize(
    "trouble",
    [
        OSError(errno.ENOSPC, "full"),
        urllib.error.URLError(ssl.SSLCertVerificationError(1, "unknown CA")),
        urllib.error.URLError(socket.gaierror(socket.EAI_NONAME, "unknown name")),
    ],
)
def test_a_full_disk_and_an_unknown_ca_or_name_do_not_pass(pauses: list[float], trouble: OSError) -> None:
    with pytest.raises(type(trouble), match=r"full|unknown"):
        tried(trouble)
    assert pauses == []


def test_a_name_server_that_does_not_answer_may_pass(pauses: list[float]) -> None:
    assert tried(urllib.error.URLError(socket.gaierror(socket.EAI_AGAIN, "later")), "text") == "text"
    assert len(pauses) == 1


def test_tries_are_bounded(pauses: list[float]) -> None:
    with pytest.raises(urllib.error.HTTPError, match="503"):
        tried(*[refusal(503)] * 4)
    assert len(pauses) == 3


def test_the_pause_that_a_server_demands_is_kept(pauses: list[float]) -> None:
    assert tried(refusal(429, Retry_After="7"), "text") == "text"
    assert 7 <= pauses[0] <= 8


def test_a_very_long_pause_is_told_and_not_kept(pauses: list[float]) -> None:
    with pytest.raises(urllib.error.HTTPError, match=r"429: No; .*3600 s"):
        tried(refusal(429, Retry_After="3600"))
    assert pauses == []


def test_no_pause_outlasts_the_deadline(pauses: list[float]) -> None:
    with pytest.raises(urllib.error.HTTPError):
        tried(refusal(429, Retry_After="20"), deadline=Deadline(10))
    assert pauses == []


def test_retry_after_is_seconds_or_a_date() -> None:
    date = format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=100), usegmt=True)
    assert retry_after_seconds("12") == 12
    assert 95 < (retry_after_seconds(date) or 0) <= 100
    assert retry_after_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after_seconds("-3") == 0
    assert retry_after_seconds("soon") is None
    assert retry_after_seconds(None) is None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_with_its_path(tmp_path: Path, code: int) -> None:
    with pytest.raises(ProblemsError) as caught, naming_full_disks(tmp_path):
        raise OSError(code, "No space left on device")
    (problem,) = caught.value.problems
    assert problem.found.startswith(f"{tmp_path} ")
    assert "no space" in problem.found
    assert not isinstance(caught.value, InvalidInput)


def test_a_full_disk_behind_another_problem_is_named() -> None:
    broken = InvalidInput(Problem("f", "n", "d"))
    broken.__cause__ = OSError(errno.ENOSPC, "No space left on device", "/a/b")
    with pytest.raises(ProblemsError, match="/a/b "), naming_full_disks(Path("/a")):
        raise broken


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(PermissionError), naming_full_disks(Path("/a")):
        raise PermissionError
