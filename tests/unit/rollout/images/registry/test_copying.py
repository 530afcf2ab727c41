"""Images are copied once, within the source's limits, and copying ends where going on would do harm.

Both registries and the tool that copies are made up here; real ones are in tests/hosts/test_registry.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.images.registry.client import Answer
from kubeflow_volcano.rollout.images.registry.copying import Copying, CopyResult, problems, warnings
from kubeflow_volcano.rollout.images.registry.endpoints import Archive
from kubeflow_volcano.rollout.images.registry.plan import Copy
from kubeflow_volcano.rollout.images.registry.rate import RateLimit
from kubeflow_volcano.rollout.images.registry.skopeo import Copied, Skopeo
from tests.waiting import Clock

D1, D2 = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
NAMES = [f"q.io/a/b{number}:1" for number in range(6)]


def copy(name: str, known: str = "") -> Copy:
    image = ImageName.parse(name)
    assert image
    return Copy(image, image.at(f"m.lan/{image.repository}"), image.at(f"own.lan/{image.repository}"), known)


@dataclass
class Side:
    """An end that answers as told by name, and otherwise with `usual`; what it was asked for is kept."""

    usual: Answer
    told: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def look(self, item: Copy) -> Answer:
        """Answer."""
        name = str(item.image)
        self.asked.append(name)
        queue = self.told.get(name, [self.usual])
        return queue.pop(0) if len(queue) > 1 else queue[0]

    def source(self, item: Copy) -> str:
        """The image itself."""
        return str(item.image)

    target = source

    def options(self, item: Copy, side: str) -> Sequence[str]:  # noqa: ARG002  part of the protocol
        """None."""
        return ()

    def finish(self, item: Copy) -> None:
        """Nothing."""


class Tool(Skopeo):
    """Copies by telling the target so; or fails as told."""

    def __init__(self, target: Side, told: dict[str, Copied] | None = None, digest: str = D1) -> None:
        self.copied: list[str] = []
        self._target = target
        self._told = told or {}
        self._digest = digest

    def copy(self, source: str, target: str, options: Sequence[str]) -> Copied:  # noqa: ARG002  as the real one
        """Copy."""
        self.copied.append(source)
        if source in self._told:
            return self._told[source]
        self._target.told[target] = [Answer(200, digest=self._digest)]
        return Copied("", at_target=False, requests=12, digest=D1)


@dataclass
class Case:
    """A source that has everything and a target that has nothing, until told otherwise."""

    source: Side = field(default_factory=lambda: Side(Answer(200, digest=D1)))
    target: Side = field(default_factory=lambda: Side(Answer(404)))
    clock: Clock = field(default_factory=Clock)

    def copy(self, names: Sequence[str] = NAMES, tool: Tool | None = None, **changes: Any) -> tuple[CopyResult, Tool]:
        """Copy, stopping after three counted answers."""
        tool = tool or Tool(self.target)
        rate = RateLimit(20, self.clock, self.clock.wait)
        options: dict[str, Any] = {"rate": rate, "most_refusals": 3, "progress": silent, **changes}
        return Copying(self.source, self.target, tool, **options).run([copy(name) for name in names]), tool


@pytest.fixture
def case() -> Case:
    return Case()


def test_everything_that_is_missing_is_copied_and_nothing_else(case: Case) -> None:
    case.target.told[NAMES[1]] = [Answer(200, digest=D1)]
    done, tool = case.copy()
    assert done.present == [NAMES[1]]
    assert done.copied == tool.copied == [name for name in NAMES if name != NAMES[1]]
    assert list(problems(done)) == []


def test_a_check_asks_both_and_copies_nothing(case: Case) -> None:
    done, tool = case.copy(check=True)
    assert (done.copied, tool.copied) == (NAMES, [])


def test_an_image_with_a_digest_in_its_name_that_is_there_needs_no_word_of_the_source(case: Case) -> None:
    name = f"q.io/a/b@{D1}"
    case.target.told[name] = [Answer(200, digest=D1)]
    done, _ = case.copy([name])
    assert (done.present, case.source.asked) == ([name], [])


def test_a_tag_that_holds_another_image_is_copied_again(case: Case) -> None:
    case.target.told[NAMES[0]] = [Answer(200, digest=D2)]
    done, tool = case.copy(NAMES[:1])
    assert (done.present, done.copied, tool.copied) == ([], NAMES[:1], NAMES[:1])


def test_what_is_known_to_be_gone_is_asked_for_at_the_own_registry_alone(case: Case) -> None:
    case.target.told[NAMES[0]] = [Answer(200, digest=D2)]
    tool = Tool(case.target)
    rate = RateLimit(20, case.clock, case.clock.wait)
    copying = Copying(case.source, case.target, tool, rate=rate, most_refusals=3, progress=silent)
    done = copying.run([copy(name, "gone upstream") for name in NAMES[:2]])
    assert (done.present, done.skipped) == ([NAMES[0]], {NAMES[1]: "gone upstream"})
    assert (case.source.asked, tool.copied) == ([], [])


def test_without_any_word_on_digests_nothing_counts_as_there(case: Case) -> None:
    case.source.usual = Answer(200)
    case.target.told[NAMES[0]] = [Answer(200)]
    done, _ = case.copy(NAMES[:1])
    assert done.copied == NAMES[:1]


def test_a_registry_that_holds_something_else_after_the_copy_is_named_with_both(case: Case) -> None:
    done, _ = case.copy(NAMES[:1], Tool(case.target, digest=D2))
    assert done.copied == []
    (text,) = done.failed.values()
    assert (text.count(D2), text.endswith(f" {D1} at m.lan/{NAMES[0]}")) == (1, True)


def test_refused_images_are_requested_once_and_after_a_few_nothing_is(case: Case) -> None:
    case.source.told = {NAMES[0]: [Answer(404)], NAMES[2]: [Answer(403)], NAMES[3]: [Answer(404)]}
    done, tool = case.copy()
    assert tool.copied == [NAMES[1]]
    assert list(done.refused) == [NAMES[0], NAMES[2], NAMES[3]]
    assert done.left == dict.fromkeys(NAMES[4:], "3 answers of 403, 404, 429 or 5xx")
    assert case.source.asked == NAMES[:4]


def test_401_refuses_one_image_each_and_does_not_count_towards_a_ban(case: Case) -> None:
    case.source.told = {name: [Answer(401)] for name in NAMES[:5]}
    done, tool = case.copy()
    assert list(done.refused) == NAMES[:5]
    assert (done.stopped, tool.copied) == ("", NAMES[5:])


def test_a_429_is_waited_for_as_long_as_it_says_and_asked_once_more(case: Case) -> None:
    case.source.told[NAMES[0]] = [Answer(429, retry_after=33), Answer(200, digest=D1)]
    paused: list[float] = []
    rate = RateLimit(20, case.clock, case.clock.wait)
    rate.slow_down = paused.append  # type: ignore[method-assign,assignment]
    done, _ = case.copy(NAMES[:2], rate=rate)
    assert done.copied == NAMES[:2]
    assert paused[0] == 33


@pytest.mark.parametrize("answers", [[Answer(429), Answer(429)], [Answer(429, retry_after=7200)]])
def test_a_429_that_goes_on_ends_the_copying(case: Case, answers: list[Answer]) -> None:
    case.source.told[NAMES[0]] = answers
    done, tool = case.copy()
    assert tool.copied == []
    assert (list(done.failed), list(done.left)) == (NAMES[:1], NAMES[1:])
    assert "429, too many requests" in done.stopped


def test_what_a_copy_asked_for_is_waited_for_before_the_next_question(case: Case) -> None:
    rate = RateLimit(20, case.clock, case.clock.wait)
    case.copy(NAMES[:1], rate=rate)
    before = case.clock.now
    assert rate.acquire()
    assert case.clock.now - before == pytest.approx(36), "12 requests at 20 a minute"


@pytest.mark.parametrize(
    "answer", [Answer(401), Answer(403), Answer(500), Answer(0, error="certificate verify failed", untrusted=True)]
)
def test_a_registry_of_ones_own_that_does_not_answer_ends_it_before_the_source_is_asked(
    case: Case, answer: Answer
) -> None:
    case.target.usual = answer
    done, _ = case.copy()
    assert (list(done.failed), list(done.left), case.source.asked) == (NAMES[:1], NAMES[1:], [])


@pytest.mark.parametrize(
    ("error", "at_target"),
    [
        ("writing blob: unauthorized: authentication required", True),
        ("writing /carried/x: no space left on device", False),
        ("x509: certificate signed by unknown authority", False),
        ("toomanyrequests: slow down", False),
    ],
)
def test_a_copy_that_fails_as_the_next_would_ends_it(case: Case, error: str, at_target: bool) -> None:  # noqa: FBT001
    tool = Tool(case.target, {NAMES[1]: Copied(error, at_target=at_target, requests=2, digest="")})
    done, _ = case.copy(tool=tool)
    assert done.copied == NAMES[:1]
    assert done.failed == {NAMES[1]: error}
    assert list(done.left) == NAMES[2:]


def test_a_copy_that_the_source_refuses_counts_as_a_refusal(case: Case) -> None:
    refused = Copied("reading manifest 1 in m.lan: manifest unknown", at_target=False, requests=2, digest="")
    done, _ = case.copy(tool=Tool(case.target, {NAMES[0]: refused}))
    assert list(done.refused) == NAMES[:1]
    assert len(done.copied) == 5


def test_three_times_no_answer_in_a_row_end_it_and_two_do_not(case: Case) -> None:
    none = [Answer(0, error="timed out")]
    case.source.told = {NAMES[number]: none for number in (0, 1, 3)}
    two, _ = case.copy()
    assert len(two.copied) == 3
    case.source.told = {name: [Answer(503)] for name in NAMES[:3]}
    three, _ = case.copy()
    assert (len(three.failed), len(three.left)) == (3, 3)


def test_what_is_missing_in_an_archive_is_told_and_stops_nobody(case: Case) -> None:
    why = "it is not in /carried"
    case.source.told = {name: [Answer(404, error=why)] for name in NAMES[:5]}
    done, _ = case.copy(rate=None)
    assert done.failed == dict.fromkeys(NAMES[:5], why)
    assert done.copied == NAMES[5:]


def test_each_trouble_is_told_once_with_all_its_images(case: Case) -> None:
    case.source.told = {NAMES[0]: [Answer(404)], NAMES[1]: [Answer(0, error="timed out")]}
    done, _ = case.copy([*NAMES[:3]])
    done.skipped["q.io/gone:1"] = "gone upstream"
    refused, failed = (problem.found for problem in problems(done))
    assert refused.startswith("1 image refused ")
    assert refused.endswith(f": {NAMES[0]} (m.lan/{NAMES[0]} answers 404).")
    assert failed == f"1 image not copied: {NAMES[1]} (timed out)."
    (warning,) = warnings(done)
    assert warning.found == "1 image skipped: q.io/gone:1 (gone upstream)."
    assert str(done) == "0 images already present, 1 copied, 1 refused, 1 failed, 1 skipped"


def test_an_archive_holds_what_was_finished_and_replaces_what_is_older(tmp_path: Path) -> None:
    archive, item = Archive(tmp_path), copy(NAMES[0])
    assert archive.look(item).status == 404
    for text in ("first", "second"):
        written = Path(archive.target(item).removeprefix("dir:"))
        (written / "manifest.json").write_text(text)
        archive.finish(item)
    assert (tmp_path / "q.io/a/b0/1/manifest.json").read_text() == "second"
    assert archive.look(item).digest.startswith("sha256:16367aacb67a")
    assert archive.source(item) == f"dir:{tmp_path}/q.io/a/b0/1"
    unfinished = Path(archive.target(copy(NAMES[1])).removeprefix("dir:"))
    (unfinished / "manifest.json").write_text("half")
    assert archive.look(copy(NAMES[1])).status == 404


@pytest.mark.parametrize("name", ["q.io", "q.io/a/b0", "q.io/a/b0/1", "q.io/a/b0/.1.partial"])
def test_an_archive_removes_nothing_through_a_link(tmp_path: Path, name: str) -> None:
    place, home = tmp_path / "images" / name, tmp_path / "home"
    for folder in ("", "a/b0/1", "b0/1", "1", "a/b0/.1.partial", "b0/.1.partial", ".1.partial"):
        (home / folder).mkdir(parents=True, exist_ok=True)
        (home / folder / "version").write_text("of a person")
    before = sorted(home.rglob("version"))
    place.parent.mkdir(parents=True)
    place.symlink_to(home)
    archive, item = Archive(tmp_path / "images"), copy(NAMES[0])

    def write() -> None:
        archive.target(item)
        archive.finish(item)

    with pytest.raises(InvalidInput, match=f"{tmp_path}/images/q.io"):
        write()
    assert sorted(home.rglob("version")) == before


def test_an_archive_replaces_only_what_is_of_an_image(tmp_path: Path) -> None:
    archive, item = Archive(tmp_path), copy(NAMES[0])
    (tmp_path / "q.io/a/b0/1").mkdir(parents=True)
    (tmp_path / "q.io/a/b0/1/notes.txt").write_text("of a person")
    archive.target(item)
    with pytest.raises(InvalidInput, match=r"has other files: notes\.txt"):
        archive.finish(item)
    assert (tmp_path / "q.io/a/b0/1/notes.txt").exists()


def test_what_is_not_the_pinned_image_at_its_source_is_not_copied() -> None:
    pinned = f"q.io/a/b@{D1}"
    source, target = Side(Answer(200, digest=D2)), Side(Answer(404))
    tool = Tool(target)
    done = Copying(source, target, tool, rate=None, most_refusals=3, progress=silent).run([copy(pinned)])
    assert tool.copied == []
    assert done.failed.keys() == {pinned}
