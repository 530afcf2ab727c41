"""A bundle appears file by file, and is continued by what is missing or wrong."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kubeflow_volcano.problems import Busy, InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.bundle.contents import CONTENTS, SUMS, Contents, load
from kubeflow_volcano.rollout.bundle.reading import Bundle
from kubeflow_volcano.rollout.bundle.writing import Writer
from tests.places import ROOT
from tests.unit.rollout.bundle.conftest import FILES
from tests.waiting import until

PATH = "manifests/volcano.yaml"
SOURCE = FILES[PATH][0]


def whole(directory: Path, header: Contents) -> list[str]:
    """The files that another run would keep."""
    with Writer.open(directory, header, silent, check=True) as writer:
        return [path for path, (source, _) in FILES.items() if writer.is_whole(path, source)]


def test_what_is_whole_is_known_and_what_is_not_is_missing(bundle: Path, header: Contents) -> None:
    assert whole(bundle, header) == [*FILES]
    (bundle / PATH).write_bytes(b"kind: B\n")
    (bundle / "kustomize/kustomize.tar.gz").unlink()
    assert set(FILES) - {*whole(bundle, header)} == {PATH, "kustomize/kustomize.tar.gz"}


def test_a_file_of_another_source_is_not_the_one_that_is_wanted(bundle: Path, sources: Path, header: Contents) -> None:
    with Writer.open(bundle, header, silent, check=True) as writer:
        assert not writer.is_whole(PATH, "https://b.example/volcano.yaml")
        assert writer.is_whole(PATH, SOURCE, sources / PATH)
        (sources / PATH).write_bytes(b"kind: C\n")
        assert not writer.is_whole(PATH, SOURCE, sources / PATH)


def test_a_check_writes_nothing(tmp_path: Path, header: Contents) -> None:
    assert whole(tmp_path / "new", header) == []
    assert not (tmp_path / "new").exists()


def test_a_bundle_that_is_being_filled_is_not_complete_until_it_is_finished(
    bundle: Path, sources: Path, header: Contents
) -> None:
    with Writer.open(bundle, header, silent) as writer:
        writer.put(PATH, SOURCE, sources / PATH)
        with pytest.raises(InvalidInput, match="is not complete"):
            Bundle.open(bundle)
        writer.finish()
    Bundle.open(bundle).verify()


def test_what_is_no_longer_wanted_goes_and_what_others_wrote_ends_the_run(bundle: Path, header: Contents) -> None:
    (bundle / "images/q.io/a/.1.0.partial").mkdir()
    (bundle / "images/q.io/a/.1.0.partial/version").write_text("left by a killed run")
    (bundle / "manifests/.volcano.yaml.01234567").write_text("as well")
    with Writer.open(bundle, header, silent) as writer:
        writer.keep_only({PATH})
        writer.finish()
    assert sorted(path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()) == [
        SUMS,
        CONTENTS,
        PATH,
    ]
    mine = bundle / "images/mine"
    mine.parent.mkdir()
    mine.write_text("of a person")
    with Writer.open(bundle, header, silent) as writer, pytest.raises(InvalidInput, match="images/mine"):
        writer.keep_only({PATH})
    assert mine.read_text() == "of a person"


@pytest.mark.parametrize("place", ["manifests/.git/config", "manifests/.notes", "images/q.io/a/.9.partial/version"])
def test_a_hidden_file_of_others_is_named_and_stays(bundle: Path, header: Contents, place: str) -> None:
    (bundle / place).parent.mkdir(exist_ok=True)
    (bundle / place).write_text("of a person")
    with Writer.open(bundle, header, silent) as writer, pytest.raises(InvalidInput, match=re.escape(place)):
        writer.keep_only(FILES)
    assert (bundle / place).read_text() == "of a person"


@pytest.mark.parametrize("linked", ["wheels", "wheels/amd64", "images/q.io/a/1.0", "manifests/more"])
@pytest.mark.parametrize("check", [False, True])
def test_a_link_in_a_bundle_is_refused_and_nothing_behind_it_is_touched(
    bundle: Path, header: Contents, tmp_path: Path, linked: str, *, check: bool
) -> None:
    home = tmp_path / "home"
    for name in (".ssh/key", ".hidden", "pack-1.0-py3-none-any.whl", "amd64/pack-1.0-py3-none-any.whl", "version"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("of a person")
    before = sorted(home.rglob("*"))
    shutil.rmtree(bundle / linked, ignore_errors=True)
    (bundle / linked).symlink_to(home)

    def fill() -> None:
        with Writer.open(bundle, header, silent, check=check) as writer:
            writer.keep_only(())

    with pytest.raises(InvalidInput, match=rf"symbolic links: {linked}\."):
        fill()
    assert sorted(home.rglob("*")) == before


def test_a_link_that_appears_meanwhile_is_not_followed(bundle: Path, header: Contents, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "amd64").mkdir(parents=True)
    wheel = home / "amd64/pack-1.0-py3-none-any.whl"
    wheel.write_text("of a person")
    with Writer.open(bundle, header, silent) as writer:
        shutil.rmtree(bundle / "wheels")
        (bundle / "wheels").symlink_to(home)
        with pytest.raises(InvalidInput, match="symbolic link"):
            writer.keep_only(())
    assert wheel.read_text() == "of a person"


def test_a_directory_where_the_list_has_a_file_stays(bundle: Path, header: Contents) -> None:
    (bundle / PATH).unlink()
    (bundle / PATH).mkdir()
    (bundle / PATH / "mine").write_text("of a person")
    with Writer.open(bundle, header, silent) as writer, pytest.raises(InvalidInput, match=f"{PATH} "):
        writer.keep_only(())
    assert (bundle / PATH / "mine").read_text() == "of a person"


def test_the_directory_itself_may_be_a_link(bundle: Path, header: Contents, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(bundle)
    with Writer.open(tmp_path / "link", header, silent) as writer:
        writer.keep_only({PATH})
    assert [path.name for path in (bundle / "manifests").iterdir()] == ["volcano.yaml"]


def test_a_directory_with_files_of_others_is_not_taken_for_a_bundle(tmp_path: Path, header: Contents) -> None:
    (tmp_path / "images").mkdir()
    with pytest.raises(InvalidInput, match=f"images, .*{CONTENTS}"), Writer.open(tmp_path, header, silent):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_a_damaged_list_is_begun_again_and_one_of_a_later_version_is_left_alone(bundle: Path, header: Contents) -> None:
    text = (bundle / CONTENTS).read_text("utf-8")
    (bundle / CONTENTS).write_text(text.replace("kfv.bundle/v1", "kfv.bundle/v9"), "utf-8")
    with pytest.raises(InvalidInput, match=r"kfv\.bundle/v9"):
        whole(bundle, header)
    (bundle / CONTENTS).write_text(text[:-9], "utf-8")
    assert whole(bundle, header) == []


def test_one_process_at_a_time(bundle: Path, header: Contents) -> None:
    with (
        Writer.open(bundle, header, silent),
        pytest.raises(Busy, match="another process"),
        Writer.open(bundle, header, silent),
    ):
        pass
    with Writer.open(bundle, header, silent):
        pass


SLOW = """
import signal, sys
from pathlib import Path
from kubeflow_volcano.rollout.bundle.contents import Contents
from kubeflow_volcano.rollout.bundle.writing import Writer
from tests.unit.rollout.bundle.conftest import FILES
directory, sources = map(Path, sys.argv[1:])
with Writer.open(directory, Contents("0.1.0", "1.9.1", ("amd64",), "3.11", False, ()), print) as writer:
    for path, (source, _) in FILES.items():
        if writer.is_whole(path, source):
            print("kept", path, flush=True)
            continue
        writer.put(path, source, sources / path)
        print("put", path, flush=True)
        signal.pause()
    writer.keep_only(FILES)
    writer.finish()
"""


@pytest.mark.programs
def test_killed_after_each_file_and_continued_by_the_next_one(tmp_path: Path, sources: Path, header: Contents) -> None:
    """SIGKILL, which nothing can be done about, after every file."""
    directory = tmp_path / "bundle"
    command: list[str | Path] = [sys.executable, "-c", SLOW, directory, sources]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for number, path in enumerate(FILES):
        log = tmp_path / "log"
        with log.open("wb") as output:
            run = subprocess.Popen(command, env=environment, stdout=output)
            until(lambda log=log: "put " in log.read_text())  # type: ignore[misc]
            run.send_signal(signal.SIGKILL)
            run.wait()
        assert log.read_text().splitlines() == [*(f"kept {name}" for name in [*FILES][:number]), f"put {path}"]
        assert not load(directory).complete
    last = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert last.stdout.splitlines() == [f"kept {path}" for path in FILES]
    Bundle.open(directory).verify()
    assert whole(directory, header) == [*FILES]


def test_an_interruption_while_a_file_is_written_leaves_the_one_before(
    bundle: Path, sources: Path, header: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", str(bundle))

    with Writer.open(bundle, header, silent) as writer:
        monkeypatch.setattr("os.fsync", fail)
        with pytest.raises(OSError, match="No space left"):
            writer.put(PATH, SOURCE, sources / PATH)
    monkeypatch.undo()
    assert whole(bundle, header) == [*FILES]
    assert list(bundle.rglob(".*")) == []
