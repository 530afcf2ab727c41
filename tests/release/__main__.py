"""python -m tests.release: build, try and tag a release (`make release`); with --check all but commit and tag."""

from __future__ import annotations

import argparse
import filecmp
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kubeflow_volcano.problems import ProblemsError
from tests.places import ROOT
from tests.release import cutting
from tests.release.build import build, clone, commit_time
from tests.release.trial import installed, try_out
from tests.release.versions import address, version


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Release the checkout; 0 if all went well. With --check nothing in the repository changes."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.no_cluster and not given.check:
        parser.error("--no-cluster goes with --check: what is tagged has been tried on a cluster")
    number = given.version or version(root)
    try:
        _release(given, number, root)
    except ProblemsError as error:
        _say(error.describe())
        return 1
    return 0


def _release(given: argparse.Namespace, number: str, root: Path) -> None:
    cutting.refuse(root, number)
    epoch = commit_time(root) if given.check else int(time.time())
    with tempfile.TemporaryDirectory(prefix="kfv-release-") as directory:
        source, other, first, second, empty = (Path(directory, name) for name in ("source", "other", "1", "2", "trial"))
        for place in (first, second, empty):
            place.mkdir()
        clone(root, source)
        cutting.commit_release(source, root, number, given.repository or address(root), epoch)
        clone(source, other)
        _say(f"builds {number} twice")
        files = build(source, first, epoch)
        build(other, second, epoch)
        _, different, missing = filecmp.cmpfiles(first, second, [path.name for path in files], shallow=False)
        if different or missing:
            raise SystemExit(f"two builds of one commit differ: {', '.join([*different, *missing])}")
        _say("installs them in an empty directory")
        user = installed(files, source / "requirements" / "run.txt", empty, number)
        if not given.no_cluster:
            _say(try_out(user, "release", given.kubeconfig, _say))
        given.output.mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copy(path, given.output)
            _say(str(given.output / path.name))
        if not address(source):
            _say("note: pyproject.toml names no address of the repository, which Galaxy requires: REPOSITORY=https://…")
        if given.check:
            _say(f"all of {number} is as it should be; nothing was committed or tagged")
            return
        cutting.publish(source, root, number)
        _say(f"{cutting.tag_of(number)} is tagged; publish it with: git push --follow-tags")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", help="the version to release (default: that of the checkout)")
    parser.add_argument("--repository", metavar="URL", help="the address of the repository, for wheel and collection")
    parser.add_argument("--output", type=Path, metavar="DIRECTORY", default=ROOT / "dist", help="where the files go")
    parser.add_argument("--check", action="store_true", help="do everything but commit and tag")
    cluster = parser.add_mutually_exclusive_group()
    cluster.add_argument("--kubeconfig", type=Path, metavar="FILE", help="a cluster with an installation to validate")
    cluster.add_argument("--no-cluster", action="store_true", help="try no cluster; only with --check")
    return parser


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this program's output


if __name__ == "__main__":
    sys.exit(main())
