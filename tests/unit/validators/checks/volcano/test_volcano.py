"""F1 to F5 on literal facts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.volcano import volcano
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Outcome, Status
from kubeflow_volcano.validators.subjects.gang.scheduler_log import SCHEDULER_LOGS
from tests.samples.facts import VOLCANO_KINDS, deployment, facts, judged, obj, pod, with_volcano
from tests.samples.kubectl import json_patched

WORKLOADS = ("volcano Deployment volcano-system/volcano-scheduler", "volcano Job volcano-system/volcano-admission-init")
GOOD = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}]
- plugins: [{name: predicates}, {name: capacity}]
"""


def init(*, complete: bool = True) -> Object:
    kind = "Complete" if complete else "Failed"
    conditions = [{"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "gave up"}]
    return obj("Job", "volcano-system/volcano-admission-init", spec={}, status={"conditions": conditions})


def scheduler(
    *, replicas: int = 1, available: int | None = None, image: str = "volcanosh/vc-scheduler:v1.10.0"
) -> Object:
    container = {
        "name": "volcano-scheduler",
        "image": image,
        "args": ["--logtostderr", "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf"],
    }
    volumes = [{"name": "scheduler-config", "configMap": {"name": "volcano-scheduler-configmap"}}]
    name = "volcano-system/volcano-scheduler"
    return deployment(name, replicas=replicas, available=available, containers=[container], volumes=volumes)


def test_all_components_up_pass() -> None:
    outcome = volcano.components(facts(scheduler(), init(), workloads=WORKLOADS))
    assert (outcome.status, len(outcome.objects)) == (Status.PASS, 2)


def test_a_scheduler_that_is_scaled_to_zero_is_f1s_own_failure() -> None:
    outcome = volcano.components(facts(scheduler(replicas=0), init(), workloads=WORKLOADS))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "ScaledToZero", ())
    assert [item.name for item in outcome.objects] == ["volcano-scheduler"]


def test_a_scheduler_whose_image_is_missing_follows_its_pod() -> None:
    bad = {"phase": "Pending", "containerStatuses": [{"name": "m", "state": {"waiting": {"reason": "ErrImagePull"}}}]}
    sick = pod("volcano-system/s", owner="volcano-scheduler", status=bad)
    outcome = volcano.components(facts(scheduler(available=0), sick, init(), workloads=WORKLOADS))
    assert outcome.because == ("A6",)


def test_an_init_job_that_was_removed_after_its_work_is_not_missed() -> None:
    assert volcano.components(facts(scheduler(), workloads=WORKLOADS)).status is Status.PASS
    assert volcano.components(facts(scheduler(available=0), workloads=WORKLOADS)).status is Status.FAIL


def test_a_failed_init_job_fails() -> None:
    outcome = volcano.components(facts(scheduler(), init(complete=False), workloads=WORKLOADS))
    assert (outcome.reason, outcome.because) == ("BackoffLimitExceeded", ("C5",))


def test_a_proxy_in_front_of_the_scheduler_changes_nothing() -> None:
    meshed = scheduler()
    meshed["spec"]["template"]["spec"]["containers"].insert(0, {"name": "linkerd-proxy", "image": "linkerd/proxy:v2"})
    known = facts(meshed, obj("ConfigMap", "volcano-system/volcano-scheduler-configmap", data={KEY: GOOD}))
    assert volcano.gang_plugin(known).status is Status.PASS
    assert volcano.version_pair(known).status is Status.PASS


def test_volcano_that_nobody_expects_is_skipped() -> None:
    assert volcano.components(facts()).status is Status.SKIP
    with pytest.raises(CannotJudgeError) as stop:
        volcano.queue_open(facts())
    assert (stop.value.outcome.status, stop.value.outcome.reason) == (Status.SKIP, "NotExpected")


def test_volcanos_kinds_are_served_or_b1_says_why() -> None:
    assert volcano.queue_open(with_volcano(queue())).status is Status.PASS
    with pytest.raises(CannotJudgeError) as stop:
        volcano.queue_open(with_volcano(queue(), served=VOLCANO_KINDS[:2]))
    assert (stop.value.outcome.status, stop.value.outcome.because) == (Status.FAIL, ("B1",))


def queue(name: str = "default", state: str = "Open", **spec: Any) -> Object:
    return obj("Queue", name, spec=spec, status={"state": state} if state else {})


def test_an_open_queue_passes() -> None:
    outcome = volcano.queue_open(with_volcano(queue(), queue("root")))
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["default", "root"])


@pytest.mark.parametrize(
    ("queues", "reason"),
    [
        ([], "Missing"),
        ([queue(state="Closed")], "Closed"),
        ([queue(state="Closing")], "Closing"),
        ([queue(state="")], "Unknown"),
        ([queue(), queue("root", "Closed")], "Closed"),
        ([queue(capability={"cpu": "much"})], "NoCapability"),
    ],
)
def test_a_queue_that_takes_no_work_fails(queues: list[Object], reason: str) -> None:
    outcome = volcano.queue_open(with_volcano(*queues))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, reason, ())
    assert outcome.changes


def test_no_cpu_memory_or_pods_is_no_limit() -> None:
    outcome = volcano.queue_open(with_volcano(queue(capability={"cpu": "0", "memory": 0, "pods": "0"})))
    assert outcome.status is Status.PASS


def test_a_capability_that_no_plugin_reads_bars_nothing() -> None:
    barred = queue(capability={"nvidia.com/gpu": "0"})
    assert grouped(barred, plugin="").reason == "NoCapability"
    assert grouped(barred, plugin="", shares="nodeorder").status is Status.PASS


def test_a_queue_without_gpus_is_a_warning_that_keeps_no_proof_from_running() -> None:
    outcome = volcano.queue_open(with_volcano(queue(capability={"cpu": "8", "nvidia.com/gpu": "0"})))
    assert (outcome.status, outcome.reason) == (Status.WARN, "NoCapability")
    assert "nvidia.com/gpu of queue" in outcome.message
    healed = json_patched(outcome.changes[0], queue(capability={"cpu": "8", "nvidia.com/gpu": "0"}))
    assert healed["spec"]["capability"] == {"cpu": "8"}


@pytest.mark.parametrize(("version", "state_is_theirs"), [("1.8.0", False), ("1.10.2", False), ("1.11.0", True)])
def test_a_closed_queue_is_opened_so_that_it_can_be_closed_again(version: str, state_is_theirs: bool) -> None:  # noqa: FBT001  a column of the table
    closed = queue(state="Closed")
    (command,) = volcano.queue_open(with_volcano(closed, scheduler(image=f"volcanosh/vc-scheduler:v{version}"))).changes
    assert command.startswith("echo '{" if state_is_theirs else "kubectl patch queues.scheduling.volcano.sh default ")
    if state_is_theirs:
        text = json.loads(command.split("'")[1])
        assert (text["kind"], text["action"], text["target"]["uid"]) == (
            "Command",
            "OpenQueue",
            closed["metadata"]["uid"],
        )


def grouped(
    *queues: Object,
    groups: Sequence[str] = (),
    plugin: str = ", {name: nodegroup}",
    image: str = "",
    shares: str = "capacity",
) -> Outcome:
    """F3 with a plugin beside that of shares, and a node for each group, of no group where it is empty."""
    labels = [{"volcano.sh/nodegroup-name": name} if name else {} for name in groups]
    nodes = [obj("Node", f"n{number}", metadata={"labels": item}) for number, item in enumerate(labels)]
    text = GOOD.replace("{name: capacity}", f"{{name: {shares}}}{plugin}")
    started = scheduler(image=f"volcanosh/vc-scheduler:v{image or '1.10.0'}")
    config = obj("ConfigMap", "volcano-system/volcano-scheduler-configmap", data={"volcano-scheduler.conf": text})
    return volcano.queue_open(with_volcano(*queues, *nodes, started, config))


def bound(name: str, *groups: str, kind: str = "nodeGroupAffinity", **spec: Any) -> Object:
    return queue(name, affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(groups)}}, **spec)


@pytest.mark.parametrize(
    ("queues", "groups", "image", "status", "names"),
    [
        ([bound("default", "a100")], ["", "t4"], "", Status.FAIL, ["default"]),
        ([bound("default", "a100")], ["", "a100"], "", Status.PASS, ["default"]),
        ([bound("default", "t4"), bound("team", "a100")], ["t4"], "", Status.WARN, ["team"]),
        ([queue()], ["t4"], "", Status.WARN, ["default"]),
        ([bound("default", "t4"), queue("team", parent="default")], ["t4"], "1.10.0", Status.WARN, ["team"]),
        ([bound("default", "t4"), queue("team", parent="default")], ["t4"], "1.15.1", Status.PASS, ["default"]),
    ],
)
def test_plugin_nodegroup_asks_for_nodes_of_the_groups_of_queues(
    queues: list[Object], groups: list[str], image: str, status: Status, names: list[str]
) -> None:
    outcome = grouped(*queues, groups=groups, image=image)
    assert (outcome.status, [item.name for item in outcome.objects]) == (status, names)
    assert outcome.reason == ("AsClaimed" if status is Status.PASS else "NoNodeOfGroup")


@pytest.mark.parametrize(
    ("flags", "labels", "status"),
    [
        (["--node-selector=pool:train"], [{}, {"pool": "serve"}], Status.FAIL),
        (["--node-selector=pool:train", "--node-selector", "pool:serve"], [{}, {"pool": "serve"}], Status.PASS),
        (["--node-selector=zone:a,pool:serve"], [{"pool": "serve"}], Status.PASS),
        (["--node-selector=pool=serve"], [{}], Status.PASS),  # no label:value, so Volcano passes over it
        (["--node-selector=pool:train"], [], Status.PASS),
    ],
)
def test_a_scheduler_that_its_flag_leaves_no_node_has_no_room(
    flags: list[str], labels: list[Object], status: Status
) -> None:
    started = scheduler()
    started["spec"]["template"]["spec"]["containers"][0]["args"] += flags
    nodes = [obj("Node", f"n{number}", metadata={"labels": item}) for number, item in enumerate(labels)]
    outcome = volcano.queue_open(with_volcano(queue(), *nodes, started))
    assert outcome.status is status
    assert outcome.reason == ("NoNodeServed" if status is Status.FAIL else "AsClaimed")


def test_without_strict_a_queue_without_affinity_gets_nodes_without_a_group() -> None:
    lenient = ", {name: nodegroup, arguments: {strict: false}}"
    assert grouped(queue(), groups=[""], plugin=lenient, image="1.15.1").status is Status.PASS
    assert grouped(bound("default", "a"), groups=[""], plugin=lenient, image="1.15.1").status is Status.FAIL


def test_the_affinity_of_a_queue_that_no_plugin_reads_is_a_warning() -> None:
    outcome = grouped(bound("default", "a100"), groups=["t4"], plugin="")
    assert (outcome.status, outcome.reason) == (Status.WARN, "AffinityNotRead")


def test_a_queue_that_no_scheduler_has_made_follows_the_scheduler() -> None:
    assert volcano.queue_open(with_volcano(scheduler(replicas=0))).because == ("F1",)


def configured(text: str | None = GOOD) -> Facts:
    data = {} if text is None else {"volcano-scheduler.conf": text}
    return facts(scheduler(), obj("ConfigMap", "volcano-system/volcano-scheduler-configmap", data=data))


def test_the_configuration_of_upstream_passes() -> None:
    outcome = judged(volcano.gang_plugin, configured())
    assert outcome.status is Status.PASS
    assert outcome.observed["plugins"] == ["priority", "gang", "predicates", "capacity"]


KEY = "volcano-scheduler.conf"
NEW = "1.10.0"
UPSTREAM = ["enqueue", "allocate", "backfill"]
PATH = "/volcano.scheduler/volcano-scheduler.conf"


@pytest.mark.parametrize(
    "container",
    [
        {"args": ["--logtostderr", "--scheduler-conf", PATH, "-v=3"]},
        {"command": ["/vc-scheduler", "--scheduler-conf", PATH], "args": ["-v=3"]},
        {"command": ["sh", "-c"], "args": [f"/vc-scheduler --scheduler-conf {PATH} --schedule-period=2s"]},
        {"args": [f"-scheduler-conf={PATH}"]},
    ],
)
def test_the_path_of_the_configuration_may_be_a_word_of_its_own(container: Object) -> None:
    found = scheduler()
    words: Object = found["spec"]["template"]["spec"]["containers"][0]
    del words["args"]
    words.update(container)
    config = obj("ConfigMap", "volcano-system/volcano-scheduler-configmap", data={"volcano-scheduler.conf": GOOD})
    assert judged(volcano.gang_plugin, facts(found, config)).status is Status.PASS


def test_the_config_map_is_the_one_that_is_mounted_where_the_path_points() -> None:
    found = scheduler()
    pod_spec: Object = found["spec"]["template"]["spec"]
    pod_spec["volumes"].insert(0, {"name": "other", "configMap": {"name": "authorities"}})
    mounts = {"other": "/etc/ssl/own", "scheduler-config": "/volcano.scheduler"}
    pod_spec["containers"][0]["volumeMounts"] = [{"name": name, "mountPath": path} for name, path in mounts.items()]
    pod_spec["volumes"][1]["configMap"]["items"] = [{"key": "conf", "path": "volcano-scheduler.conf"}]
    pod_spec["containers"].insert(0, {"name": "proxy", "image": "example/proxy:v1"})
    config = obj("ConfigMap", "volcano-system/volcano-scheduler-configmap", data={"conf": GOOD})
    assert judged(volcano.gang_plugin, facts(found, config)).status is Status.PASS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GOOD.replace("{name: gang, enablePreemptable: false}", "{name: drf}"), "GangMissing"),
        (GOOD.replace("enablePreemptable", "enableJobReady"), "GangDisabled"),
        (GOOD.replace("allocate, ", ""), "ActionMissing"),
        (GOOD.replace("allocate", "alocate"), "ActionUnknown"),
        (GOOD.replace("predicates}", "drf, enableHierarchy: true}, {name: proportion}"), "Contradiction"),
        (GOOD.replace("enablePreemptable: false", "enablePreemptable: 'false'"), "Unreadable"),
        (GOOD.replace("enablePreemptable: false", "arguments: 5"), "Unreadable"),
        ("actions: allocate", "GangMissing"),
        ("tiers: [", "Unreadable"),
        ("a text", "Unreadable"),
        ("tiers: []\nactions: 5", "Unreadable"),
        (None, "NoConfiguration"),
    ],
)
def test_a_configuration_that_does_not_gang_fails(text: str | None, reason: str) -> None:
    outcome = judged(volcano.gang_plugin, configured(text))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason)
    assert "volcano-scheduler-configmap" in outcome.message


def test_a_configuration_that_the_scheduler_itself_refuses_does_not_count() -> None:
    """Its log outranks what looks sound here; a refusal of another text is one of an earlier configuration."""
    one = Ref("v1", "Pod", "volcano-system", "volcano-scheduler-1")

    def told(text: str) -> Outcome:
        said = (
            f"E1128 10:00:00.1 1 scheduler.go:159] Scheduler config {text.strip()} is invalid: failed to find x\nI1128"
        )
        return volcano.gang_plugin(replace(configured(GOOD), found={SCHEDULER_LOGS: {one: said}}))

    found = told(GOOD)
    assert (found.status, found.reason) == (Status.FAIL, "RefusedByScheduler")
    assert 'find x"' in found.message
    assert one in found.objects
    assert told(GOOD.replace("drf", "other") + "# before").status is Status.PASS


def test_gangs_need_no_action_enqueue_and_nothing_puts_it_back() -> None:
    outcome = judged(volcano.gang_plugin, configured(GOOD.replace("enqueue, ", "")))
    assert (outcome.status, outcome.changes) == (Status.PASS, ())
    assert "allocate admits each PodGroup" in outcome.message


def test_a_configuration_that_is_built_in_gangs() -> None:
    found = scheduler()
    del found["spec"]["template"]["spec"]["containers"][0]["args"]
    outcome = judged(volcano.gang_plugin, facts(found))
    assert (outcome.status, outcome.observed["actions"]) == (Status.PASS, UPSTREAM)


@pytest.mark.parametrize(
    ("old", "new", "reason", "named"),
    [
        ("{name: priority}", "{name: prioriti}", "UnknownPlugin", "plugin prioriti, and skips it. Did you mean"),
        ("{name: priority}", "{name: own-plugin}", "UnknownPlugin", "plugin own-plugin, and skips it."),
        ("predicates", "drf", "PluginMissing", "plugin predicates is missing"),
        ("capacity", "drf", "PluginMissing", "so queues have no share"),
        ("enablePreemptable", "enableJobPipelined", "GangLoosened", "enableJobPipelined: false"),
        ("enablePreemptable", "enableJobStarving", "GangLoosened", "enableJobStarving: false"),
        ("enablePreemptable", "enablePreemptible", "UnknownKey", "Did you mean enablePreemptable?"),
        ("tiers:", "metric: {type: x}\ntiers:", "UnknownKey", "key metric. Did you mean metrics?"),
        ("- plugins: [{name: pre", "- plugin: []\n  plugins: [{name: pre", "UnknownKey", "key plugin"),
        (
            "{name: capacity}",
            "{name: proportion}, {name: overcommit, arguments: {overcommit-facto: 1.5}}",
            "UnknownArgument",
            "argument overcommit-facto of overcommit. Did you mean overcommit-factor?",
        ),
        (
            "{name: capacity}",
            "{name: capacity}, {name: overcommit, arguments: {overcommit-factor: '1.5'}}",
            "UnknownArgument",
            "overcommit-factor of overcommit is '1.5', and Volcano 1.10.0 reads a number there",
        ),
        (
            "{name: predicates}",
            "{name: predicates, arguments: {predicate.GPUSharingEnable: true}}",
            "UnknownArgument",
            "argument predicate.GPUSharingEnable of predicates",
        ),
        (
            "tiers:",
            "configurations: [{name: allocate, arguments: {predicateErrorCacheEnabled: false}}]\ntiers:",
            "UnknownArgument",
            "Did you mean predicateErrorCacheEnable?",
        ),
    ],
)
def test_what_volcano_ignores_or_lacks_is_named_and_gangs_all_the_same(
    old: str, new: str, reason: str, named: str
) -> None:
    outcome = judged(volcano.gang_plugin, configured(GOOD.replace(old, new)))
    assert (outcome.status, outcome.reason) == (Status.WARN, reason)
    assert named in outcome.message


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("capacity", "capacity}, {name: binpack, arguments: {binpack.resources.nvidia.com/gpu: 2}"),
        GOOD.replace("capacity", "capacity}, {name: tdm, arguments: {tdm.revocable-zone.rz1: 10:00-21:00}"),
        GOOD.replace("capacity", "capacity}, {name: overcommit, arguments: {overcommit-factor: 2}"),
        GOOD + "configurations: [{name: init-params, arguments: {grace-over-time: '900'}}]\n",
        GOOD + "metrics: {type: prometheus, address: 'http://p'}\n",
        "actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: proportion}]\n-\n"[:-2],
    ],
)
def test_what_volcano_reads_is_accepted(text: str) -> None:
    outcome = judged(volcano.gang_plugin, configured(text))
    assert outcome.status is Status.PASS, outcome.message


def test_arguments_of_a_version_that_the_catalog_does_not_have_are_not_judged() -> None:
    text = GOOD.replace("{name: priority}", "{name: priority, later: true, arguments: {new: 1}}")
    assert of_version("1.10.0", text).status is Status.WARN
    assert of_version("1.16.0", text).status is Status.PASS
    assert of_version("1.7.0", text).status is Status.PASS


@pytest.mark.parametrize(
    ("right", "wrong", "status", "reason"),
    [
        ("gang", "gnag", Status.FAIL, "GangMissing"),
        ("gang", "Gang", Status.FAIL, "GangMissing"),
        ("predicates", "predicate", Status.WARN, "PluginMissing"),
        ("capacity", "capcity", Status.WARN, "PluginMissing"),
    ],
)
def test_a_needed_plugin_that_is_misspelt_is_named_with_the_word_that_is_meant(
    right: str, wrong: str, status: Status, reason: str
) -> None:
    outcome = judged(volcano.gang_plugin, configured(GOOD.replace(right, wrong)))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert f"Did you mean {right}?" in outcome.message


def test_a_plugin_that_is_there_already_is_not_what_an_unknown_one_means() -> None:
    outcome = judged(volcano.gang_plugin, configured(GOOD.replace("priority", "gnag")))
    assert outcome.status is Status.WARN
    assert "gang?" not in outcome.message


def known_of(version: str, config: Object) -> Facts:
    found = scheduler()
    found["spec"]["template"]["spec"]["containers"][0]["image"] = f"volcanosh/vc-scheduler:v{version}"
    return facts(found, config)


def config_of(text: str) -> Object:
    return obj("ConfigMap", "volcano-system/volcano-scheduler-configmap", data={KEY: text})


def of_version(version: str, text: str) -> Outcome:
    return judged(volcano.gang_plugin, known_of(version, config_of(text)))


@pytest.mark.parametrize(
    ("version", "text", "actions", "plugins"),
    [
        (NEW, GOOD.replace("{name: gang, enablePreemptable: false}", "{name: drf}"), UPSTREAM, "priority drf gang {}"),
        (NEW, GOOD.replace("enablePreemptable", "enableJobReady"), UPSTREAM, "priority gang {}"),
        (NEW, GOOD.replace("priority", "gnag").replace("name: gang", "name: drf"), UPSTREAM, "gang drf {}"),
        (NEW, GOOD.replace("gang", "gnag"), UPSTREAM, "priority gang {}"),
        (NEW, GOOD.replace("priority", "gag").replace("name: gang", "name: gnag"), UPSTREAM, "gang gnag {}"),
        (NEW, GOOD.replace("priority", "own-plugin").replace("gang", "Gang"), UPSTREAM, "own-plugin gang {}"),
        (NEW, GOOD.replace("allocate, ", ""), UPSTREAM, "priority gang {}"),
        (NEW, GOOD.replace("enqueue, allocate, ", ""), UPSTREAM[1:], "priority gang {}"),
        (NEW, GOOD.replace("allocate, ", "alocate, "), UPSTREAM, "priority gang {}"),
        (NEW, GOOD.replace("allocate, ", "allocate, nonsense, "), UPSTREAM, "priority gang {}"),
        (NEW, GOOD.replace("predicates", "drf"), UPSTREAM, "priority gang drf capacity predicates"),
        (NEW, GOOD.replace("capacity", "drf"), UPSTREAM, "priority gang predicates drf proportion"),
        ("1.8.0", GOOD, UPSTREAM, "priority gang predicates proportion"),
        (NEW, "actions: allocate\ntiers:", ["allocate"], "gang predicates proportion"),
        (NEW, GOOD.replace("tiers", "teirs"), UPSTREAM, "priority gang {}"),
        (NEW, "actions: enqueue\ntiers:\n- plugins:", ["enqueue", "allocate"], "gang predicates proportion"),
    ],
)
def test_the_printed_command_corrects_the_configuration(
    version: str, text: str, actions: list[str], plugins: str
) -> None:
    outcome = of_version(version, text)
    healed = judged(volcano.gang_plugin, known_of(version, json_patched(outcome.changes[0], config_of(text))))
    assert healed.status is not Status.FAIL, healed.message
    assert healed.observed["actions"] == actions
    assert healed.observed["plugins"] == plugins.format("predicates capacity").split()


def test_a_corrected_configuration_keeps_what_is_not_wrong() -> None:
    options = "{name: own-plugin, arguments: {a: 1.5}, enableNodeOrder: false}"
    text = GOOD.replace("{name: priority}", options).replace("predicates", "predicate") + "metrics:\n  type: x\n"
    (command,) = judged(volcano.gang_plugin, configured(text)).changes
    assert yaml.safe_load(json_patched(command, config_of(text))["data"][KEY]) == yaml.safe_load(
        text.replace("predicate", "predicates")
    )


def test_a_plugin_that_may_be_on_purpose_is_no_reason_to_change_anything() -> None:
    assert judged(volcano.gang_plugin, configured(GOOD.replace("priority", "own-plugin"))).changes == ()


@pytest.mark.parametrize(
    ("version", "text", "reason", "words"),
    [
        ("1.8.0", GOOD, "PluginMissing", "Volcano 1.8.0 does not know capacity, so queues have no share"),
        ("1.8.0", GOOD.replace("capacity", "proportion"), "AsClaimed", ""),
        ("1.10.0", GOOD, "AsClaimed", ""),
        (
            "1.8.0",
            GOOD.replace("allocate, ", "allocate, gangpreempt, ").replace("capacity", "proportion"),
            "ActionUnknown",
            "Volcano 1.8.0 does not know action gangpreempt, and ignores the whole configuration because of it",
        ),
        ("1.10.0", GOOD.replace("allocate, ", "allocate, alocate, "), "ActionUnknown", "does not know action alocate"),
        (
            "1.10.0",
            GOOD.replace("allocate, ", "alocate, "),
            "ActionUnknown",
            "the whole configuration because of it. Did you mean allocate? action allocate is missing",
        ),
        ("1.16.0", GOOD.replace("allocate, ", "allocate, later, "), "AsClaimed", ""),
        ("1.8.0", GOOD.replace("capacity", "proportion}, {name: pdb"), "UnknownPlugin", "Volcano 1.8.0 does not bring"),
        ("1.7.0", GOOD, "AsClaimed", ""),
    ],
)
def test_words_are_held_against_the_version_that_runs(version: str, text: str, reason: str, words: str) -> None:
    outcome = of_version(version, text)
    assert outcome.reason == reason
    assert words in outcome.message


def test_a_plugin_that_a_vendor_added_is_accepted_by_name() -> None:
    known = known_of("1.8.0", config_of(GOOD.replace("capacity", "proportion}, {name: vendor-topology")))
    assert judged(volcano.gang_plugin, known).reason == "UnknownPlugin"
    assert "volcano_scheduler_extra_plugins" in judged(volcano.gang_plugin, known).todo
    expected = replace(known.expectations, extra_plugins=("vendor-topology",))
    assert judged(volcano.gang_plugin, replace(known, expectations=expected)).reason == "AsClaimed"


def test_the_version_of_a_volcano_of_others_is_theirs() -> None:
    known = facts(scheduler(image="volcanosh/vc-scheduler:v1.11.0"))
    kept = replace(known, expectations=replace(known.expectations, existing=frozenset({"volcano"})))
    assert volcano.version_pair(kept).status is Status.SKIP


def test_without_a_scheduler_there_is_no_configuration_and_f1_says_why() -> None:
    assert judged(volcano.gang_plugin, facts(workloads=WORKLOADS)).because == ("F1",)
    assert judged(volcano.gang_plugin, facts()).reason == "NotExpected"


@pytest.mark.parametrize(
    ("server", "image", "reason"),
    [
        ("v1.30.2", "docker.io/volcanosh/vc-scheduler:v1.10.0", "AsClaimed"),
        ("v1.35.4", "mirror.example:5000/volcanosh/vc-scheduler:v1.10.0@sha256:" + 64 * "0", "PairNotTested"),
        ("v1.30.2", "volcanosh/vc-scheduler:v1.10.7", "AsClaimed"),
        ("v1.30.2", "volcanosh/vc-scheduler:v1.11.0", "UnknownVersion"),
        ("v1.30.2", "volcanosh/vc-scheduler:latest", "UnknownVersion"),
        ("v1.30.2", "mirror.example:5000/vc-scheduler", "UnknownVersion"),
    ],
)
def test_the_pair_of_versions_is_looked_up(server: str, image: str, reason: str) -> None:
    outcome = volcano.version_pair(facts(scheduler(image=image), server_version=server))
    assert (outcome.reason, outcome.status is Status.FAIL) == (reason, False)
