"""What a release needs of the checkout, and the commit that it is made of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from kubeflow_volcano.problems import Problem, ProblemsError
from tests.release import promises
from tests.release.build import git
from tests.release.changelog import cut
from tests.release.versions import NUMBER, version, with_address, write
from tests.wording import claims, missing_labels, missing_texts

_FIRST_WITH_PROMISES = (1, 0, 0)


def tag_of(number: str) -> str:
    """The tag of a version."""
    return f"v{number}"


def refuse(root: Path, number: str) -> None:
    """Check everything that can be known before the first build.

    Raises:
        ProblemsError: all reasons why this version cannot be cut here.
    """
    found = [*_of_tree(root), *_of_number(root, number), *_of_texts()]
    if found:
        raise ProblemsError(found)


def _of_tree(root: Path) -> Iterator[Problem]:
    if left := git(root, "status", "--porcelain").splitlines():
        yield Problem(
            f"{len(left)} changes that are not committed: {', '.join(line[3:] for line in left[:5])}.",
            "a clean tree, so that the tag names what is built.",
            "commit them, or remove them (git stash --include-untracked).",
        )
    if not git(root, "config", "--default", os.environ.get("GIT_COMMITTER_NAME", ""), "user.name"):
        yield Problem("git has no name of an author.", "one for the commit and the tag.", "git config user.name NAME")


def _of_number(root: Path, number: str) -> Iterator[Problem]:
    if not re.fullmatch(NUMBER, number):
        yield Problem(f"the version {number!r}.", "three numbers, such as 1.0.0.", "make release VERSION=1.0.0")
        return
    tags = re.findall(rf"(?m)^v({NUMBER})$", git(root, "tag", "--list", "v*"))
    released = max(map(_numbers, tags), default=None)
    if released and _numbers(number) <= released:
        last = ".".join(map(str, released))
        yield Problem(f"the version {number}, and the tag v{last}.", f"a version after {last}.", "choose the next one.")
    if broken := promises.breaks():
        major = released[0] if released else 0
        if _numbers(number)[0] <= major:
            yield Problem(
                f"version {number} would break what version {major}.x promises: {', '.join(broken)}.",
                f"a major version, {major + 1}.0.0.",
                "keep what was promised (docs/stability.md), or release the major version.",
            )


def _numbers(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


@cache
def _of_texts() -> tuple[Problem, ...]:
    left = [*missing_labels("zh"), *missing_texts(claims(), "zh")]
    found = f"{len(left)} labels and claims have no Chinese text, such as {left[:1]}."
    todo = "python -m tests.wording lists them; write them into validators/language/zh."
    return (Problem(found, "all of them in a release.", todo),) if left else ()


def commit_release(place: Path, root: Path, number: str, address: str | None, epoch: int) -> None:
    """Write version, changelog and promises in a clone of the checkout, and commit them with this time.

    Raises:
        ProblemsError: the changelog has nothing for this version.
    """
    if address:
        project = place / "pyproject.toml"
        project.write_text(with_address(project.read_text("utf-8"), address), "utf-8")
    write(number, place)
    changelog = place / "CHANGELOG.md"
    day = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d")
    changelog.write_text(cut(changelog.read_text("utf-8"), number, day), "utf-8")
    if _numbers(number) >= _FIRST_WITH_PROMISES:
        home = place / "tests" / "release"
        data = promises.promises() | {"version": number}
        (home / promises.RELEASED.name).write_text(promises.render(data), "utf-8")
        kept = re.sub(r"(?ms)^(?![#-]).*\Z", "{}\n", promises.BREAKS.read_text("utf-8"))
        (home / promises.BREAKS.name).write_text(kept, "utf-8")
    assert version(place) == number
    git(place, "add", "--all")
    when = f"{epoch} +0000"
    who = {
        f"GIT_{role}_{part}": os.environ.get(f"GIT_{role}_{part}") or git(root, "config", f"user.{part.lower()}")
        for role in ("AUTHOR", "COMMITTER")
        for part in ("NAME", "EMAIL")
    }
    words = ("commit", "--quiet", "--message", f"chore(release): {number}")
    git(place, *words, GIT_AUTHOR_DATE=when, GIT_COMMITTER_DATE=when, **who)


def publish(place: Path, root: Path, number: str) -> None:
    """Take the commit of the clone into the checkout, and tag it.

    Raises:
        ProblemsError: the checkout was changed meanwhile.
    """
    before = git(place, "rev-parse", "HEAD~1")
    if git(root, "rev-parse", "HEAD") != before or [*_of_tree(root)]:
        raise ProblemsError(
            Problem("the checkout was changed meanwhile.", f"commit {before}, clean.", "run make release again.")
        )
    git(root, "fetch", "--quiet", str(place), "HEAD")
    git(root, "merge", "--quiet", "--ff-only", "FETCH_HEAD")
    git(root, "tag", "--annotate", tag_of(number), "--message", f"kubeflow-volcano {number}")
