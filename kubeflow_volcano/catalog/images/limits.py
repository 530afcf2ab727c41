"""What a registry's answer means for the next request, so that no mirror bans this address.

One rule for checking, copying and pulling. It follows the ban rules of DaoCloud's public mirror, the strictest that are
published (DaoCloud/public-image-mirror, issues 34109 and 6196): more than 100 answers of 403, 404, 429 or 5xx within
two days ban an address, and requests of a banned address prolong the ban. 401 is not among them: it is a registry's
challenge, and every anonymous pull begins with one.

| answer | this image | counted | all other images |
|---|---|---|---|
| 401, after signing in | refused, not requested again | no | go on |
| 403, 404 | refused, not requested again | yes | stop at `most` counted answers |
| 429 | requested once more, after Retry-After or a minute | yes | wait, too; stop at the second 429 |
| 5xx | failed | yes | stop at three in a row |
| none | failed | no | stop at three in a row |
| untrusted certificate, full disk | failed | no | stop: the next image would fail, too |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from kubeflow_volcano.catalog.symptoms.read import recognise

PAUSE_SECONDS = 60.0
"""After a 429 without Retry-After: the known mirror counts requests per minute."""

LONGEST_PAUSE_SECONDS = 600.0
"""A mirror that demands a longer pause is not asked again in this run."""

_MOST_IN_A_ROW = 3


class Meaning(StrEnum):
    """What an answer, or the error of a tool that pulls or copies, says about the request."""

    OK = "ok"
    UNAUTHORIZED = "unauthorized"
    """401."""
    REFUSED = "refused"
    """403 or 404."""
    RATE_LIMITED = "rate limited"
    """429."""
    UNAVAILABLE = "unavailable"
    """5xx."""
    SILENT = "silent"
    """No answer: no connection, or none in time."""
    UNTRUSTED = "untrusted"
    """The registry's certificate is not trusted here."""
    FULL = "full"
    """The disk that the image is written to is full."""
    FAILED = "failed"
    """Anything else, about this image alone."""

    @property
    def is_final(self) -> bool:
        """Whether the same request would get the same answer: the image is not requested again."""
        return self in {Meaning.UNAUTHORIZED, Meaning.REFUSED}

    @property
    def is_counted(self) -> bool:
        """Whether mirrors count such answers when they ban an address."""
        return self in {Meaning.REFUSED, Meaning.RATE_LIMITED, Meaning.UNAVAILABLE}


@dataclass(slots=True)
class Tally:
    """The answers of one registry so far. `stopped` says why to request nothing more, empty to go on.

    `most` is the number of counted answers that ends the run (image_mirror_refusals); `cause` is the meaning of the
    answer that ended it.
    """

    most: int
    refusals: int = 0
    stopped: str = ""
    in_a_row: int = 0
    cause: Meaning = Meaning.OK

    def add(self, meaning: Meaning, why: str = "", *, retry_after: float = 0.0, repeated: bool = False) -> float:
        """Count an answer.

        Args:
            meaning: of the answer.
            why: its text, for a person.
            retry_after: seconds that the registry demands, 0 if it does not say.
            repeated: whether this was the second request for the image, after a 429.

        Returns:
            After how many seconds to repeat the request; 0 means not to repeat it.
        """
        self.refusals += meaning.is_counted
        self.in_a_row = self.in_a_row + 1 if meaning in {Meaning.UNAVAILABLE, Meaning.SILENT} else 0
        if meaning is Meaning.UNTRUSTED:
            self._stop(meaning, f"its certificate is not trusted: {why}")
        elif meaning is Meaning.FULL:
            self._stop(meaning, why)
        elif meaning.is_counted and self.refusals >= self.most:
            self._stop(meaning, f"{self.refusals} answers of 403, 404, 429 or 5xx")
        elif self.in_a_row >= _MOST_IN_A_ROW:
            self._stop(meaning, f"no answer {self.in_a_row} times in a row: {why}")
        elif meaning is Meaning.RATE_LIMITED and repeated:
            self._stop(meaning, "it answers 429, too many requests, again")
        elif meaning is Meaning.RATE_LIMITED and retry_after > LONGEST_PAUSE_SECONDS:
            self._stop(meaning, f"it answers 429, too many requests, and demands a pause of {retry_after:.0f} s")
        elif meaning is Meaning.RATE_LIMITED:
            return retry_after or PAUSE_SECONDS
        return 0.0

    def _stop(self, meaning: Meaning, why: str) -> None:
        if not self.stopped:
            self.stopped, self.cause = why, meaning


def meaning_of_status(status: int) -> Meaning:
    """What an HTTP status means; 0 is no answer."""
    if status == 0:
        return Meaning.SILENT
    if status == HTTPStatus.UNAUTHORIZED:
        return Meaning.UNAUTHORIZED
    if status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
        return Meaning.REFUSED
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Meaning.RATE_LIMITED
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Meaning.UNAVAILABLE
    return Meaning.OK if status < HTTPStatus.BAD_REQUEST else Meaning.FAILED


def meaning_of_error(error: str) -> Meaning:
    """What the error of a container runtime or of skopeo means, by the table of symptoms."""
    symptom = recognise(error, "pull")
    return Meaning(symptom.answer) if symptom and symptom.answer else Meaning.FAILED
