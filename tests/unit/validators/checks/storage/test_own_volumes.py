"""D7: what containers say of their volumes, and what it comes to; D4 beside it, and as whom D6 acted."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.exec import ExecResult
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks.storage import volumes
from kubeflow_volcano.validators.checks.storage.own_volumes import existing_volumes_writable
from kubeflow_volcano.validators.checks.storage.writing import consumer_can_write
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Outcome, Status
from kubeflow_volcano.validators.probes.storage import own_volumes
from kubeflow_volcano.validators.probes.storage.consumers import Skipped
from kubeflow_volcano.validators.probes.storage.identities import Identity
from kubeflow_volcano.validators.probes.storage.own_volumes import OWN_VOLUMES, Answer, Asked, OwnVolumes, Who, answers
from kubeflow_volcano.validators.probes.storage.storage import STORAGE, StorageEvidence
from kubeflow_volcano.validators.probes.storage.writing import Target, Written
from tests.samples.facts import facts, obj, pod

DB = Ref("apps/v1", "Deployment", "kubeflow", "mysql")
ASKED = Asked(DB, Ref("v1", "Pod", "kubeflow", "mysql-0"), "mysql", ("/var/lib/mysql",), main_is_own=True)
MAIN = "main Uid: 0 999 999 999\nmain Gid: 0 999 999 999\nmain Groups: 999 1000\n"


def said(*lines: str) -> ExecResult:
    return ExecResult(0, "".join(f"{line}\n" for line in lines))


def row(mode: str, owner: int, group: int) -> str:
    return f"{mode} 2 {owner} {group} 4096 Jan 1 00:00 /var/lib/mysql"


@pytest.mark.parametrize(
    ("lines", "writable", "who"),
    [
        (("id 999 999", f"path yes {row('drwx------', 999, 999)}"), True, "uid 999 groups 999"),
        (("id 999 999", f"path no {row('drwxr-xr-x', 0, 0)}"), False, "uid 999 groups 999"),
        # The entrypoint was root and changed over: root may always, the program may not.
        (("id 0 0", MAIN, f"path yes {row('drwxr-xr-x', 0, 0)}"), False, "uid 999 groups 999, 1000"),
        (("id 0 0", MAIN, f"path yes {row('drwxrwxr-x', 0, 1000)}"), True, "uid 999 groups 999, 1000"),
        (("id 0 0", MAIN, f"path yes {row('drwx------', 999, 0)}"), True, "uid 999 groups 999, 1000"),
        (("id 0 0", MAIN, f"path yes {row('drwxrwxrwx', 0, 0)}"), True, "uid 999 groups 999, 1000"),
        # Read-only: nobody may.
        (("id 0 0", f"path no {row('drwxr-xr-x', 0, 0)}"), False, "uid 0 groups 0"),
        (("id  ", "path yes ls: not found"), True, "uid unknown"),
    ],
)
def test_the_program_is_judged_and_not_the_command(lines: tuple[str, ...], writable: bool, who: str) -> None:  # noqa: FBT001  a column of the table
    (found,) = answers(ASKED, said(*lines))
    assert (found.writable, str(found.who)) == (writable, who)


def test_process_1_of_a_shared_namespace_is_somebody_else() -> None:
    shared = Asked(DB, ASKED.pod, "mysql", ASKED.paths, main_is_own=False)
    (found,) = answers(shared, said("id 5 5", MAIN, f"path yes {row('drwx------', 5, 5)}"))
    assert str(found.who) == "uid 5 groups 5"


# the probe


class Stub:
    """As much of a session as the probe needs."""

    cluster: Any = None


def mysql(**rest: Any) -> Object:
    running: Object = {"phase": "Running", "containerStatuses": [{"name": "mysql", "state": {"running": {}}}]}
    mounted = [{"name": "data", "mountPath": "/var/lib/mysql"}]
    spec: Object = {
        "nodeName": "n1",
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "mysql"}}],
        "containers": [{"name": "mysql", "volumeMounts": mounted}, {"name": "sidecar"}],
    }
    fields: dict[str, Any] = {"spec": spec, "status": running} | rest
    return pod("kubeflow/mysql-0", **fields)


CLAIM = obj(
    "PersistentVolumeClaim", "kubeflow/mysql", spec={"accessModes": ["ReadWriteOnce"]}, status={"phase": "Bound"}
)


def run(monkeypatch: pytest.MonkeyPatch, end: ExecResult | ApiError, *objects: Object) -> OwnVolumes:
    def execute(*_: Any, **__: Any) -> ExecResult:
        if isinstance(end, ApiError):
            raise end
        return end

    monkeypatch.setattr(own_volumes, "execute", execute)
    session: Any = Stub()
    return own_volumes.run(session, facts(*objects), silent)


def test_the_container_that_mounts_the_claim_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, said("id 9 9", f"path yes {row('drwx------', 9, 9)}"), mysql(), CLAIM)
    assert [(item.asked.container, item.path, item.writable) for item in found.answers] == [
        ("mysql", "/var/lib/mysql", True)
    ]


def test_pods_of_users_simulated_ones_and_those_that_do_not_run_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = mysql() | {"metadata": {"name": "mysql-0", "namespace": "mine", "uid": "u", "labels": {}}}
    other = obj("PersistentVolumeClaim", "mine/mysql", spec={"accessModes": ["ReadWriteOnce"]})
    assert run(monkeypatch, said(), theirs, other) == OwnVolumes()
    waiting = mysql(status={"phase": "Pending"})
    assert "running container mysql" in run(monkeypatch, said(), waiting, CLAIM).skipped[0].reason
    simulated = mysql(metadata={"labels": {"rehearsal.kubeflow-volcano.io/simulated": "true"}})
    assert "simulated" in run(monkeypatch, said(), simulated, CLAIM).skipped[0].reason


def test_an_image_without_shell_is_left_out_and_a_refusal_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    mute = ExecResult(None, 'exec: "sh": executable file not found in $PATH')
    assert "no shell" in run(monkeypatch, mute, mysql(), CLAIM).skipped[0].reason
    assert run(monkeypatch, ExecResult(None, "container is gone"), mysql(), CLAIM).failures[0][1] == "Unfinished"
    refused = run(monkeypatch, ApiError(403, "Forbidden", "no"), mysql(), CLAIM)
    assert refused.failures[0][1] == "Forbidden"
    assert run(monkeypatch, said("id 9 9"), mysql(), CLAIM).failures[0][1] == "Unfinished"


# the verdict


def judged(**evidence: Any) -> Outcome:
    return existing_volumes_writable(facts(evidences={OWN_VOLUMES: OwnVolumes(**evidence)}))


def answer(*, writable: bool) -> Answer:
    return Answer(ASKED, "/var/lib/mysql", writable, Who(999, frozenset({999})), row("drwxr-xr-x", 0, 0))


def test_writable_volumes_pass_and_tell_as_whom() -> None:
    outcome = judged(answers=(answer(writable=True),), skipped=(Skipped(DB, "has no shell"),))
    assert outcome.status is Status.PASS
    assert "as uid 999" in outcome.message
    assert "has no shell" in outcome.message


def test_one_that_is_not_fails_before_anything_else() -> None:
    outcome = judged(answers=(answer(writable=False),), failures=((ASKED.pod, "Forbidden", "no"),))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NotWritable")
    assert "drwxr-xr-x 2 0 0" in outcome.message
    assert outcome.commands == ("kubectl -n kubeflow exec mysql-0 -c mysql -- ls -ldn /var/lib/mysql",)


def test_what_could_not_be_asked_is_an_error_and_nothing_to_ask_a_skip() -> None:
    outcome = judged(answers=(answer(writable=True),), failures=((ASKED.pod, "Forbidden", "no"),))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Forbidden")
    assert "pods/exec" in outcome.todo
    assert judged(failures=((ASKED.pod, "ProbeInterrupted", "no answer"),)).reason == "ProbeInterrupted"
    assert judged().status is Status.SKIP
    assert judged(skipped=(Skipped(DB, "has no shell"),)).status is Status.SKIP
    beyond = judged(answers=(answer(writable=True),), skipped=(Skipped(DB, "is beyond", beyond=True),))
    assert beyond.status is Status.WARN


def test_facts_that_are_missing_end_the_judgement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_volumes, "execute", lambda *_, **__: said())
    session: Any = Stub()
    found = own_volumes.run(session, facts(unread={"pods": Unread("Forbidden", "no", "ask")}), silent)
    with pytest.raises(CannotJudgeError):
        existing_volumes_writable(facts(evidences={OWN_VOLUMES: found}))


# D4


def volume(phase: str, namespace: str = "kubeflow", policy: str = "Retain") -> Object:
    spec = {"claimRef": {"namespace": namespace, "name": "mysql"}, "persistentVolumeReclaimPolicy": policy}
    return obj("PersistentVolume", "pv", spec=spec, status={"phase": phase, "message": "host is gone"})


@pytest.mark.parametrize(
    ("item", "status", "reason"),
    [
        (volume("Bound"), Status.PASS, "AsClaimed"),
        (volume("Failed"), Status.FAIL, "Failed"),
        (volume("Failed", "mine"), Status.WARN, "Failed"),
        (volume("Released"), Status.WARN, "Kept"),
        (volume("Released", "mine"), Status.PASS, "AsClaimed"),
        (volume("Released", policy="Delete"), Status.PASS, "AsClaimed"),
    ],
)
def test_failed_volumes_fail_and_kept_ones_of_the_release_warn(item: Object, status: Status, reason: str) -> None:
    outcome = volumes.volumes_sound(facts(item))
    assert (outcome.status, outcome.reason) == (status, reason)


def test_without_volumes_there_is_nothing_to_look_at() -> None:
    assert volumes.volumes_sound(facts()).status is Status.SKIP


# as whom D6 acted


def identities(*tried: Identity, **claim: int) -> Outcome:
    user, group, fs_group = claim.get("run_as_user"), claim.get("run_as_group"), claim.get("fs_group")
    expected = Expectations(claims=(Claim("kubeflow", "mysql", "1Gi", DB, user, group, fs_group),))
    written = tuple(Written(Target(item, (DB,), storage_class="a")) for item in tried)
    return consumer_can_write(facts(expected=expected, evidences={STORAGE: StorageEvidence(written=written)}))


def test_identities_that_were_tried_are_named() -> None:
    outcome = identities(Identity(999, fs_group=999), run_as_user=999, fs_group=999)
    assert outcome.status is Status.PASS
    assert "uid 999 fsGroup 999" in outcome.message
    assert identities(Identity()).status is Status.PASS


def test_an_identity_that_nobody_acted_as_is_told() -> None:
    outcome = identities(Identity(5), run_as_user=999, fs_group=999)
    assert (outcome.status, outcome.reason) == (Status.WARN, "NotTried")
    assert "kubeflow/mysql (owner 999:999)" in outcome.message
