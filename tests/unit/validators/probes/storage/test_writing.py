"""The script with which probes write, run for real on real directories; and what becomes of its report."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.ended import End
from kubeflow_volcano.experiment.session import Options, ProbeRefused, Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.validators.probes.storage.identities import Identity
from kubeflow_volcano.validators.probes.storage.writing import SCRIPT, Target, Written, account, write
from tests.samples.facts import facts

CONSUMER = 999
TARGET = Target(Identity(user=CONSUMER), (), volume="pv", path="/data/pv", node="n1")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")


NAME = "0a1b2c3d-5e6f"


def script_on(directory: Path, log: Path) -> str:
    """The script for a directory in place of the mount."""
    log.touch(mode=0o666)
    log.chmod(0o666)
    script = SCRIPT.replace("/dev/termination-log", str(log)).replace("d=/kfv", f"d={directory}")
    return script.replace("f=/kfv/", f"f={directory}/")


def run(directory: Path, tmp_path: Path, *, user: int) -> Written:
    """Run the script as `user`."""
    log = tmp_path / "termination-log"
    ended = subprocess.run(
        ["/bin/sh", "-c", script_on(directory, log)],
        env={"KFV_NAME": NAME, "PATH": os.environ["PATH"], "LC_ALL": "C"},
        user=user,
        group=user,
        extra_groups=[],
        check=False,
        cwd="/",
    )
    return account(TARGET, End(ended.returncode == 0, "n1", log.read_text(), "", "", 0.1))


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A directory below others that anybody may pass through, as the mounts of a container are."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)
    directory = tmp_path / "volume"
    directory.mkdir()
    return directory


@pytest.mark.programs
@needs_root
def test_an_owner_can_do_everything_and_leaves_nothing(volume: Path, tmp_path: Path) -> None:
    (volume / "precious").write_text("kept")
    os.chown(volume, CONSUMER, CONSUMER)
    written = run(volume, tmp_path, user=CONSUMER)
    assert (written.failed_at, written.cause, written.failure) == ("", "", None)
    assert (written.uid, written.gid, written.mode) == (CONSUMER, CONSUMER, "0755")
    assert [item.name for item in volume.iterdir()] == ["precious"]
    assert (volume / "precious").read_text() == "kept"


@pytest.mark.programs
@needs_root
def test_a_directory_of_root_refuses_and_shows_owner_and_mode(volume: Path, tmp_path: Path) -> None:
    volume.chmod(0o755)
    written = run(volume, tmp_path, user=CONSUMER)
    assert (written.failed_at, written.cause) == ("create", "Permission")
    assert (written.uid, written.gid, written.mode) == (0, 0, "0755")
    assert written.acted_as == f"{CONSUMER} {CONSUMER} {CONSUMER}"
    assert list(volume.iterdir()) == []


@pytest.mark.programs
@needs_root
def test_a_sticky_directory_shows_its_special_bit(volume: Path, tmp_path: Path) -> None:
    volume.chmod(0o1777)
    written = run(volume, tmp_path, user=CONSUMER)
    assert (written.mode, written.cause) == ("1777", "")


@pytest.mark.programs
@needs_root
@pytest.mark.parametrize("ending", ["", ".new", ".d", ".d.new"])
def test_what_has_the_name_already_is_left_alone(volume: Path, tmp_path: Path, ending: str) -> None:
    volume.chmod(0o777)
    theirs = volume / f".kfv-probe-{NAME}{ending}"
    theirs.symlink_to("/nowhere")
    written = run(volume, tmp_path, user=CONSUMER)
    assert written.failure is not None
    assert (written.cause, written.failure[0], "nothing" in written.failure[1]) == ("", "Unfinished", True)
    assert [item.name for item in volume.iterdir()] == [theirs.name]


@pytest.mark.programs
@pytest.mark.parametrize("shell", ["sh", "busybox"])
def test_a_probe_that_is_ended_leaves_nothing(volume: Path, tmp_path: Path, shell: str) -> None:
    if not (program := shutil.which(shell)):
        pytest.skip(f"there is no {shell}")
    log, fifo = tmp_path / "termination-log", tmp_path / "fifo"
    os.mkfifo(fifo)
    script = script_on(volume, log).replace("try fsync", f'cat "{fifo}"\ntry fsync')
    command = [program, "-c", script] if shell == "sh" else [program, "sh", "-c", script]
    process = subprocess.Popen(command, env={"KFV_NAME": NAME, "PATH": os.environ["PATH"]})
    with fifo.open("w"):  # opens when the script does, in the midst of its work
        assert [item.name for item in volume.iterdir()] == [f".kfv-probe-{NAME}.new"]
        process.terminate()
    assert process.wait() == 143
    assert list(volume.iterdir()) == []


def test_each_probe_has_a_name_of_its_own() -> None:
    """Two identities may write to one directory in one run, at the same time."""
    made: list[Object] = []

    class Refusing(Session):
        def create(self, obj: Object, **_rest: object) -> Object:
            made.append(obj)
            raise ProbeRefused("not here")

    session = Refusing(cast("Cluster", None), options=Options(namespace="mine"))
    for number in range(2):
        with pytest.raises(ProbeRefused):
            write(session, TARGET, number, facts())
    names = {item["spec"]["containers"][0]["env"][0]["value"] for item in made}
    assert len(names) == 2
    assert all(name.startswith(f"{session.run}-") and len(name) > len(session.run) + 16 for name in names)


def ended(said: str, *, succeeded: bool = False, reason: str = "", failure: str = "") -> Written:
    return account(TARGET, End(succeeded, "n1", said, reason, failure, 1.0))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("can't create /kfv/x: Permission denied", "Permission"),
        ("chmod: /kfv/x: Operation not permitted", "Permission"),
        ("can't create /kfv/x: Read-only file system", "ReadOnly"),
        ("dd: writing '/kfv/x': No space left on device", "Full"),
        ("can't create /kfv/x: Disk quota exceeded", "Full"),
        ("can't create /kfv/x: Input/output error", "Other"),
    ],
)
def test_causes_are_told_apart(text: str, cause: str) -> None:
    written = ended(f"id 999 0 0\nls drwxr-xr-x 2 0 0 4096 Jan 1 00:00 /kfv\nfail create {text}")
    assert (written.cause, written.failed_at, written.text) == (cause, "create", text)


def test_a_directory_that_is_missing_is_the_volumes_fault() -> None:
    text = 'MountVolume.SetUp failed for volume "data": hostPath type check failed: /data/pv is not a directory'
    written = ended("", reason="FailedMount", failure=text)
    assert (written.cause, written.failed_at, written.failure) == ("Missing", "mount", None)


def test_a_pod_that_never_ran_proves_nothing() -> None:
    failure = "image busybox: not found"
    written = ended("", reason="ErrImagePull", failure=failure)
    assert (written.cause, written.failure) == ("", ("ErrImagePull", failure))


def test_a_report_that_breaks_off_proves_nothing() -> None:
    written = ended("id 999 0 0\nok create\nok chmod", succeeded=True)
    assert written.failure is not None
    assert (written.failure[0], "chmod" in written.failure[1]) == ("Unfinished", True)


def test_a_label_is_kept_without_the_path() -> None:
    written = ended(
        "label drwxr-xr-x 2 0 0 system_u:object_r:usr_t:s0 4096 Jan 1 00:00 /kfv\nfail create Permission denied"
    )
    assert written.label == "system_u:object_r:usr_t:s0"


@pytest.mark.parametrize(
    ("target", "level"),
    [
        (TARGET, Level.PRIVILEGED),
        (Target(Identity(user=5), (), storage_class="fast"), Level.RESTRICTED),
        (Target(Identity(), (), storage_class="fast"), Level.BASELINE),
    ],
)
def test_the_level_is_the_lowest_that_admits_the_probe(target: Target, level: Level) -> None:
    assert target.level is level
