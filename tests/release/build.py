"""The files of a release, with the same bytes from every build of a commit.

python -m tests.release.build DIRECTORY

builds the commit that is checked out, for example to compare a published release with its tag.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.places import ROOT
from tests.release.changelog import for_collections
from tests.release.materials import bill_of_materials
from tests.release.versions import version

SUMS = "SHA256SUMS"


def git(root: Path, *words: str, **environment: str) -> str:
    """What a command of git prints, without the last line break.

    Raises:
        subprocess.CalledProcessError: it failed; its messages are on standard error.
    """
    variables = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | environment
    command = ["git", "-C", str(root), *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=variables)
    return done.stdout.rstrip("\n")


def clone(root: Path, place: Path) -> None:
    """The commit that is checked out in `root`, checked out in `place` on a branch of its own."""
    commit = git(root, "rev-parse", "HEAD")
    subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", str(root), str(place)], check=True)
    git(place, "checkout", "--quiet", "-B", "release", commit)


def commit_time(root: Path) -> int:
    """When the commit that is checked out was made, in seconds since 1970."""
    return int(git(root, "log", "-1", "--format=%ct"))


def build(source: Path, output: Path, epoch: int) -> list[Path]:
    """Wheel, collection, bill of materials and their sums.

    Args:
        source: a checkout with nothing in it but what its commit has; `changelogs/` is added to it.
        output: an existing directory.
        epoch: the time that all files in the archives get.
    """
    number = version(source)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONHASHSEED": "0"}
    wheel = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(output)]
    subprocess.run(wheel, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=source, env=environment)

    (source / "changelogs").mkdir(exist_ok=True)
    changelog = for_collections((source / "CHANGELOG.md").read_text("utf-8"))
    (source / "changelogs/changelog.yaml").write_text(changelog, "utf-8")
    galaxy = [str(Path(sys.executable).with_name("ansible-galaxy")), "collection", "build", "--force", "--output-path"]
    subprocess.run([*galaxy, str(output), str(source)], check=True, stdout=subprocess.DEVNULL, cwd=source)

    files = [
        output / f"kubeflow_volcano-{number}-py3-none-any.whl",
        output / f"kubeflow_volcano-platform-{number}.tar.gz",
    ]
    normalize(files[1], epoch)
    bill = output / f"kubeflow-volcano-{number}.cdx.json"
    lock = (source / "requirements/run.txt").read_text("utf-8")
    bill.write_text(bill_of_materials(number, files, lock, epoch), "utf-8")
    sums = output / SUMS
    sums.write_text("".join(f"{_sum(path.read_bytes())}  {path.name}\n" for path in [*files, bill]), "utf-8")
    return [*files, bill, sums]


def normalize(archive: Path, epoch: int) -> None:
    """Rewrite a built collection: its members and lists in one order, with one time, one owner and plain modes."""
    with tarfile.open(archive) as content:
        members = {member.name: member for member in content.getmembers()}
        data = {name: _read(content, member) for name, member in members.items() if member.isfile()}
    listed = json.loads(data["FILES.json"])
    listed["files"].sort(key=lambda entry: entry["name"])
    data["FILES.json"] = _json(listed)
    manifest = json.loads(data["MANIFEST.json"])
    manifest["file_manifest_file"]["chksum_sha256"] = _sum(data["FILES.json"])
    data["MANIFEST.json"] = _json(manifest)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as content:
        for name in sorted(members, key=lambda each: (each not in {"MANIFEST.json", "FILES.json"}, each)):
            content.addfile(_plain(members[name], data, epoch), io.BytesIO(data.get(name, b"")))
    with archive.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=epoch) as compressed:
        compressed.write(packed.getvalue())


def _plain(member: tarfile.TarInfo, data: Mapping[str, bytes], epoch: int) -> tarfile.TarInfo:
    found = tarfile.TarInfo(member.name)
    found.type, found.linkname, found.mtime = member.type, member.linkname, epoch
    found.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    found.size = len(data.get(member.name, b""))
    return found


def _read(content: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = content.extractfile(member)
    assert file is not None
    return file.read()


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1).encode()


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main(output: Path) -> None:
    """Build the commit that is checked out."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "source")
        clone(ROOT, source)
        for path in build(source, output, commit_time(source)):
            print(path)  # noqa: T201 - this program's output


if __name__ == "__main__":
    main(Path(sys.argv[1]))
