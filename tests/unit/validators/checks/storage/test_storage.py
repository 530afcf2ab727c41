"""D1, D2, D3, D5 and D6 on literal facts and evidence."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.storage import classes, volumes, writing
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.storage.consumers import Skipped
from kubeflow_volcano.validators.probes.storage.directories import Unlisted
from kubeflow_volcano.validators.probes.storage.identities import Identity
from kubeflow_volcano.validators.probes.storage.roundtrip import RoundTrip, Stage
from kubeflow_volcano.validators.probes.storage.storage import STORAGE, StorageEvidence
from kubeflow_volcano.validators.probes.storage.writing import Target, Written
from kubeflow_volcano.validators.subjects.interception import webhook_ref
from tests.samples.facts import deployment, facts, instant, obj, pod, ref

BETA = "storageclass.beta.kubernetes.io/is-default-class"
NEW = "storageclass.kubernetes.io/is-default-class"
DB = Ref("apps/v1", "Deployment", "victim", "db")
PROVISIONER = "local-path Deployment local-path-storage/local-path-provisioner"


def storage_class(
    name: str, mark: str = NEW, *, default: bool = True, ago: float = 100, provisioner: str = "rancher.io/local-path"
) -> Object:
    meta = {"annotations": {mark: "true" if default else "false"}, "creationTimestamp": instant(ago)}
    return obj("StorageClass", name, metadata=meta, provisioner=provisioner, volumeBindingMode="WaitForFirstConsumer")


# D1


@pytest.mark.parametrize("mark", [NEW, BETA])
def test_one_default_class_passes_by_either_annotation(mark: str) -> None:
    outcome = classes.default_class(facts(storage_class("a", mark), storage_class("b", default=False)))
    assert (outcome.status, outcome.observed["default"]) == (Status.PASS, ["a"])


def test_no_default_class_fails_and_says_how_to_mark_one() -> None:
    outcome = classes.default_class(facts(storage_class("a", default=False)))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoDefault")
    assert outcome.changes == (f"kubectl annotate storageclass a {NEW}=true --overwrite",)


@pytest.mark.fault(34)
def test_no_class_at_all_fails() -> None:
    outcome = classes.default_class(facts())
    assert (outcome.reason, outcome.todo) == ("NoDefault", "install a provisioner.")


@pytest.mark.fault(34)
def test_of_two_defaults_the_newest_wins_with_a_warning() -> None:
    outcome = classes.default_class(facts(storage_class("old", ago=900), storage_class("young", ago=10)))
    assert (outcome.status, outcome.reason) == (Status.WARN, "SeveralDefaults")
    assert outcome.observed["winner"] == "young"
    assert "young wins" in outcome.message
    assert outcome.changes == (f"kubectl annotate storageclass old {NEW}=false {BETA}=false --overwrite",)


@pytest.mark.fault(34)
def test_of_two_defaults_an_old_server_takes_none() -> None:
    known = facts(storage_class("old", ago=900), storage_class("young", ago=10), server_version="v1.25.16")
    outcome = classes.default_class(known)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "SeveralDefaults")
    assert "refuses claims" in outcome.message


def test_of_two_defaults_of_one_age_the_first_name_wins() -> None:
    outcome = classes.default_class(facts(storage_class("b"), storage_class("a")))
    assert outcome.observed["winner"] == "a"


# D2


def test_a_provisioner_that_is_up_passes() -> None:
    live = deployment("local-path-storage/local-path-provisioner")
    outcome = classes.provisioner_alive(facts(storage_class("a"), live, workloads=[PROVISIONER]))
    assert (outcome.status, outcome.objects[0].name) == (Status.PASS, "local-path-provisioner")


def test_a_provisioner_scaled_to_zero_is_d2s_own_failure() -> None:
    live = deployment("local-path-storage/local-path-provisioner", replicas=0)
    outcome = classes.provisioner_alive(facts(storage_class("a"), live, workloads=[PROVISIONER]))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "ScaledToZero", ())


def test_a_provisioner_that_is_not_installed_fails() -> None:
    outcome = classes.provisioner_alive(facts(storage_class("a"), workloads=[PROVISIONER]))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "Missing")


def test_a_provisioner_that_the_catalog_does_not_know_is_found_by_its_name() -> None:
    driver = [{"name": "d", "image": "x/csi:v1", "args": ["--driver-name=nfs.csi.k8s.io"]}]
    live = deployment("storage/csi", available=0, containers=driver)
    outcome = classes.provisioner_alive(facts(storage_class("a", provisioner="nfs.csi.k8s.io"), live))
    assert (outcome.status, outcome.because) == (Status.FAIL, ("C2",))


@pytest.mark.parametrize(("replicas", "status"), [(0, Status.FAIL), (1, Status.PASS)])
def test_a_driver_of_others_without_a_controller_fails_although_its_node_plugins_run(
    replicas: int, status: Status
) -> None:
    driver = [{"name": "d", "image": "x/csi:v1", "args": ["--driver-name=nfs.csi.k8s.io"]}]
    controller = deployment("storage/csi-controller", replicas=replicas, containers=driver)
    template = {"metadata": {"labels": {}}, "spec": {"containers": driver}}
    counts = {"desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberReady": 1}
    plugin = obj("DaemonSet", "storage/csi-node", spec={"template": template}, status=counts)
    outcome = classes.provisioner_alive(facts(storage_class("a", provisioner="nfs.csi.k8s.io"), controller, plugin))
    assert outcome.status is status
    assert outcome.objects[0].name == "csi-controller"


def test_volumes_made_in_advance_need_no_provisioner() -> None:
    outcome = classes.provisioner_alive(facts(storage_class("a", provisioner="kubernetes.io/no-provisioner")))
    assert (outcome.status, outcome.objects[0].name) == (Status.PASS, "a")
    assert "made in advance" in outcome.message


def test_a_provisioner_without_a_workload_is_a_warning() -> None:
    outcome = classes.provisioner_alive(facts(storage_class("a", provisioner="cloud.example.com")))
    assert (outcome.status, outcome.reason) == (Status.WARN, "UnknownProvisioner")


# D3


def claim(phase: str = "Bound", *, ago: float = 3600, storage_name: str = "a", **meta: Any) -> Object:
    metadata = {"creationTimestamp": instant(ago), **meta}
    spec = {"volumeName": "pv" if phase == "Bound" else "", "storageClassName": storage_name}
    return obj("PersistentVolumeClaim", "ns/data", metadata=metadata, spec=spec, status={"phase": phase})


def volume(uid: str = "uid-PersistentVolumeClaim ns/data") -> Object:
    return obj("PersistentVolume", "pv", spec={"claimRef": {"uid": uid}})


def user(**annotations: str) -> Object:
    spec = {"containers": [], "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
    return pod("ns/user", metadata={"annotations": annotations}, spec=spec, status={"phase": "Pending"})


def immediate() -> Object:
    return storage_class("a") | {"volumeBindingMode": "Immediate"}


@pytest.mark.parametrize(
    ("objects", "status", "reason", "because"),
    [
        ((claim(), volume()), Status.PASS, "AsClaimed", ()),
        ((claim(), volume("another")), Status.FAIL, "NotBoundBack", ()),
        ((claim(),), Status.FAIL, "NotBoundBack", ()),
        ((claim("Lost"),), Status.FAIL, "Lost", ()),
        ((claim("Pending"),), Status.WARN, "Unused", ()),
        ((claim("Pending"), user()), Status.FAIL, "NotBound", ("C8",)),
        (
            (claim("Pending", annotations={"volume.kubernetes.io/selected-node": "n1"}), user()),
            *(Status.FAIL, "NotBound", ()),
        ),
        ((claim("Pending"), user(**{"scheduling.k8s.io/group-name": "g"})), Status.WARN, "Unused", ()),
        ((claim("Pending", storage_name="gone"),), Status.FAIL, "NotBound", ()),
        ((), Status.SKIP, "NoObjects", ()),
    ],
)
def test_claims(objects: Any, status: Status, reason: str, because: Any) -> None:
    outcome = volumes.claims_bound(facts(storage_class("a"), *objects))
    assert (outcome.status, outcome.reason, outcome.because) == (status, reason, because)


@pytest.mark.parametrize(("ago", "status"), [(59, Status.PASS), (61, Status.FAIL)])
def test_a_claim_that_binds_at_once_has_a_minute(ago: float, status: Status) -> None:
    assert volumes.claims_bound(facts(immediate(), claim("Pending", ago=ago))).status is status


def test_a_claim_that_is_too_young_to_tell_is_not_counted_as_bound() -> None:
    outcome = volumes.claims_bound(facts(immediate(), claim("Pending", ago=1)))
    assert outcome.message.startswith("0 of 1 ")


# D5


def turned(*stages: Stage, **fields: Any) -> Outcome:
    evidence = StorageEvidence(default_class="a", round_trip=RoundTrip("a", stages, "n1"))
    for name, value in fields.items():
        setattr(evidence, name, value)
    return classes.round_trip(facts(evidences={STORAGE: evidence}))


WRITE, READ = Stage("write", done=True, seconds=2.5), Stage("read", done=True, seconds=1.0)


def test_a_whole_turn_passes_with_its_times() -> None:
    outcome = turned(WRITE, READ, Stage("remove", done=True, seconds=2.0))
    assert (outcome.status, outcome.observed) == (
        Status.PASS,
        {"write": "2.5 s", "read": "1.0 s", "remove": "2.0 s"},
    )


@pytest.mark.parametrize(
    ("stage", "status", "reason"),
    [
        (
            Stage("write", done=False, seconds=60, reason="TimedOut", text="provisioning failed"),
            Status.FAIL,
            "TimedOut",
        ),
        (Stage("write", done=False, seconds=1, reason="ScriptFailed", text="read-only"), Status.FAIL, "NotWritable"),
        (
            Stage("read", done=False, seconds=1, reason="OtherBytes", text="sha256 0 was read"),
            Status.FAIL,
            "OtherBytes",
        ),
        (Stage("remove", done=False, seconds=60, reason="NotRemoved", text="pv"), Status.FAIL, "NotRemoved"),
        (Stage("write", done=False, seconds=1, reason="ErrImagePull", text="busybox"), Status.ERROR, "ProbeImage"),
        (Stage("claim", done=False, seconds=0, reason="NoDefault", text="none"), Status.FAIL, "NoDefault"),
    ],
)
def test_the_stage_that_breaks_is_named(stage: Stage, status: Status, reason: str) -> None:
    outcome = turned(stage)
    assert (outcome.status, outcome.reason) == (status, reason)
    assert stage.text in outcome.message


def test_an_image_of_the_provisioners_own_pod_has_the_remedy_of_its_message() -> None:
    pull = 'failed to resolve reference "tools.example/helper:9": tools.example/helper:9: not found'
    text = f"the provisioner's pod in local-path-storage: {pull}; create process timeout after 120 seconds"
    outcome = turned(Stage("write", done=False, seconds=60, reason="TimedOut", text=text))
    assert outcome.status is Status.FAIL
    assert outcome.todo.startswith("correct the name")


def test_a_node_without_a_path_is_named_with_the_configuration_that_lacks_it() -> None:
    stage = Stage("write", done=False, seconds=60, reason="TimedOut", text="config doesn't contain node n1, and no")
    config = ref("ConfigMap", "local-path-storage/local-path-config")
    wanted = '{"nodePathMap": [{"node": "n1", "paths": ["/it\'s"]}]}'
    outcome = turned(round_trip=RoundTrip("a", (stage,), unlisted=Unlisted("n1", config, wanted)))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NodeNotListed")
    assert config in outcome.objects
    (command,) = outcome.changes
    assert json.loads(shlex.split(command)[-1])["data"]["config.json"] == wanted
    unread = turned(round_trip=RoundTrip("a", (stage,), unlisted=Unlisted("n1", config, "")))
    assert (unread.reason, unread.changes) == ("NodeNotListed", ())


def test_a_refused_turn_is_an_error() -> None:
    outcome = turned(round_trip=None, round_trip_failure=("ProbeRefused", "exceeded quota"))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ProbeRefused")


def test_a_turn_that_would_take_somebodys_volume_is_skipped() -> None:
    outcome = turned(round_trip=RoundTrip("a", unsafe="PersistentVolume spare is free"))
    assert (outcome.status, outcome.reason) == (Status.SKIP, "NotSafe")


# D6

HOST = Target(Identity(999, 999, 999), (DB,), volume="pv", path="/opt/pv", node="n1")
FRESH = Target(Identity(999, 999, 999), (), storage_class="a")


def written(target: Target = HOST, cause: str = "", **fields: Any) -> Written:
    if cause:
        seen: dict[str, Any] = {"mode": "0755", "uid": 0, "gid": 0, "listing": "drwxr-xr-x 2 0 0 4096 Jan 1 00:00 /kfv"}
        return Written(target, "create", cause, "can't create: Permission denied", **(seen | fields))
    return Written(target, **fields)


def wrote(*items: Written, **fields: Any) -> Outcome:
    return writing.consumer_can_write(facts(evidences={STORAGE: StorageEvidence(written=items, **fields)}))


def test_consumers_that_can_write_pass_and_the_levels_are_explained() -> None:
    outcome = wrote(written(), written(FRESH))
    assert outcome.status is Status.PASS
    assert set(outcome.observed["pod_security"]) == {"privileged", "restricted"}
    assert DB in outcome.objects


def test_a_consumer_whose_user_only_its_image_knows_is_named_and_no_other() -> None:
    hidden = replace(HOST, identity=Identity(fs_group=999))
    outcome = wrote(written(hidden), written(FRESH))
    assert outcome.status is Status.PASS
    assert outcome.observed["users_unknown"] == [str(DB)]
    assert "root was tried" in outcome.message
    known = wrote(written(), written(replace(FRESH, identity=Identity())))
    assert known.observed["users_unknown"] == []
    assert "root was tried" not in known.message


def test_a_root_owned_directory_fails_with_owner_mode_and_the_owner_it_needs() -> None:
    outcome = wrote(written(cause="Permission"), written(FRESH))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "PermissionDenied")
    assert (outcome.observed["mode"], outcome.observed["uid"], outcome.observed["gid"]) == ("0755", 0, 0)
    assert outcome.changes == ("chown 999:999 /opt/pv",)
    assert "owner 999:999" in outcome.todo
    assert "Deployment victim/db" in outcome.message
    assert "777" not in outcome.todo + " ".join(outcome.changes)


def test_an_owner_without_its_bits_gets_them() -> None:
    outcome = wrote(written(cause="Permission", uid=999, gid=999, mode="0500"))
    assert outcome.changes == ("chmod u+rwx /opt/pv",)


def test_a_new_owner_gets_the_bits_that_the_old_one_did_not_have() -> None:
    outcome = wrote(written(cause="Permission", mode="0500"))
    assert outcome.changes == ("chown 999:999 /opt/pv", "chmod u+rwx /opt/pv")


@pytest.mark.fault(35)
def test_a_foreign_label_is_corrected_by_policy() -> None:
    outcome = wrote(written(cause="Permission", label="system_u:object_r:usr_t:s0"))
    assert any(command.startswith("semanage fcontext -a -t container_file_t") for command in outcome.changes)


@pytest.mark.fault(35)
@pytest.mark.parametrize(
    ("cause", "reason"),
    [("ReadOnly", "ReadOnlyVolume"), ("Full", "VolumeFull"), ("Missing", "DirectoryMissing"), ("Other", "NotWritable")],
)
def test_each_cause_has_its_own_word_and_no_chmod(cause: str, reason: str) -> None:
    outcome = wrote(written(cause=cause))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason)
    assert not any("chmod" in command for command in outcome.changes)


def test_a_new_volume_that_refuses_is_the_provisioners_matter() -> None:
    outcome = wrote(written(FRESH, "Permission"))
    assert outcome.changes == ()
    assert "of class a" in outcome.todo


def test_a_refusing_volume_is_worse_than_a_probe_that_was_not_made() -> None:
    outcome = wrote(written(FRESH, failure=("ErrImagePull", "x")), written(cause="Permission"))
    assert outcome.status is Status.FAIL


@pytest.mark.parametrize(
    ("trouble", "reason", "because"),
    [
        (("ErrImagePull", "image busybox: not found"), "ProbeImage", ()),
        (("ProbeRefused", "violates PodSecurity"), "ProbeRefused", ()),
        (("TimedOut", "still Pending"), "TimedOut", (frozenset({ref("StorageClass", "a")}),)),
        (
            ("ProbeInterrupted", 'failed calling webhook "a.b": connection refused'),
            "ProbeInterrupted",
            (frozenset({webhook_ref("a.b")}),),
        ),
    ],
)
def test_a_probe_that_was_not_made_is_an_error(trouble: Any, reason: str, because: Any) -> None:
    outcome = wrote(Written(FRESH, failure=trouble))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.ERROR, reason, because)


def test_what_was_left_out_is_told() -> None:
    left_out = Skipped(DB, "is on the simulated node n1: there is no directory behind volume pv")
    outcome = wrote(written(FRESH), skipped=(left_out,))
    assert outcome.status is Status.PASS
    assert "simulated node n1" in outcome.message


def test_only_left_out_is_a_skip_and_no_pass() -> None:
    outcome = wrote(skipped=(Skipped(DB, "is on the simulated node n1"),))
    assert (outcome.status, outcome.reason) == (Status.SKIP, "NothingToProbe")


def test_too_many_directories_are_a_warning() -> None:
    outcome = wrote(written(), skipped=(Skipped(DB, "beyond", beyond=True),))
    assert (outcome.status, outcome.reason) == (Status.WARN, "NotAllProbed")
