"""The verdicts of the gang experiment, one test per branch, on literal evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import KUBERNETES
from kubeflow_volcano.cluster.admission.alterations import Alteration
from kubeflow_volcano.cluster.admission.rescheduling import Rescheduling
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.watch.leaders import CONTROLLERS
from kubeflow_volcano.experiment.record import Group, Member, Moment
from kubeflow_volcano.experiment.remains import Cleanup, Tracked
from kubeflow_volcano.experiment.stage import Step
from kubeflow_volcano.validators.checks.gang import gang
from kubeflow_volcano.validators.core.check import checks_in
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.audit import CLEANUP
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence
from kubeflow_volcano.validators.probes.gang.gang import GANG
from kubeflow_volcano.validators.subjects.interception import webhook_ref
from tests.samples.facts import facts
from tests.samples.gang import blamed

HOOK = Ref("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "")
AT = "2026-01-01T00:00:00.000Z"


def member(name: str, *, node: str = "", judged: bool = False, lost: str = "", bound: float = 0.0) -> Member:
    return Member(
        name,
        f"uid-{name}",
        "volcano",
        node=node,
        bound_at=AT if node else "",
        bound_monotonic=bound,
        judged=AT if judged else "",
        message="0/1 nodes are available" if judged else "",
        lost=lost,
    )


def group(name: str, minimum: int, phase: str, *, judged: bool = False) -> Group:
    return Group(name, f"uid-{name}", minimum, phase, AT if judged else "")


def step(id_: str, members: Sequence[Member], groups: Sequence[Group], *, reached: bool = True, **more: Any) -> Step:
    timeline = (Moment(AT, members[0].name, "created"),)
    return Step(id_, tuple(members), tuple(groups), timeline, ((),), reached=reached, **({"seconds": 1.0} | more))


def fit(*, bound: int = 3, judged: bool = False, **more: Any) -> Step:
    members = [member(f"h1-p{i}", node="n1" if i < bound else "", judged=judged and i >= bound) for i in range(3)]
    groups = [group("h1", 3, "Running" if bound == 3 else "", judged=judged)]
    known: dict[str, Any] = {"reached": bound == 3, "seconds": 0.6}
    return step("H1", members, groups, **(known | more))


def blocked(*, premature: Sequence[str] = (), judged: bool = True, lost: str = "", **more: Any) -> Step:
    names = ("h2-p0", "h2-p1", "h2-p2")
    members = [member(name, node="n1" if name in premature else "", judged=judged, lost=lost) for name in names]
    groups = [group("h2", 3, "Inqueue", judged=judged)]
    held: dict[str, Any] = {"held_seconds": 5.0, "premature": tuple(premature), "reached": judged and not premature}
    return step("H2", members, groups, **(held | more))


def released(*, bound: int = 3, looked: bool = True) -> Step:
    members = [
        member(f"h2-p{i}", node="n1" if number < bound else "", judged=i != 3 or (looked and bound < 3))
        for number, i in enumerate((0, 1, 3))
    ]
    return step("H3", members, [group("h2", 3, "Running")], reached=bound == 3, seconds=0.9)


def control(*, bound: int = 2, stuck_on: str = "") -> Step:
    members = [member(f"h4-p{i}", node="n1" if i < bound else "") for i in range(2)]
    members.append(member("h4-p2", node=stuck_on, judged=True))
    return step("H4", members, [group("h4", 1, "Running")], reached=bound == 2)


def unganged(*, bound: int = 2, judged: bool = True) -> Step:
    members = [member(f"h5-p{i}", node="n1" if i < bound else "", judged=judged and i >= bound) for i in range(3)]
    return step("H5", members, [])


def four(id_: str, *bound: str, states: Sequence[Sequence[str]] = (), at: float = 0.0, **more: Any) -> Step:
    """A step of H6 in which these of a0, a1, b0, b1 were bound."""
    prefix = f"{id_.lower()}-"
    members = [
        member(prefix + item, node="n1" if item in bound else "", judged=item not in bound, bound=number * at)
        for number, item in enumerate(("a0", "b1", "b0", "a1"))
    ]
    known = step(id_, members, [group(f"{prefix}a", 2, "Running")], **more)
    seen = tuple(tuple(prefix + item for item in names) for names in (states or ((), bound)))
    return replace(known, states=seen)


def unseen(step_: Step) -> Step:
    """The same step, had no scheduler looked at its members."""
    return replace(step_, members=tuple(replace(item, judged="") for item in step_.members))


TURNS = (four("H6s", "a0", "a1"), four("H6", "a0", "a1"), four("H6r", "b0", "b1"), four("H6c", "a0", "b1"))


def evidence(*steps: Step, **fields: Any) -> GangEvidence:
    known = {"namespace": "kfv-smoke-0a1b2c3d", "queue": "default", "queue_state": "Open"}
    return GangEvidence(**(known | fields), steps={item.id: item for item in steps})


GOOD = (fit(), blocked(), released(), control(), unganged(), *TURNS)


def without(id_: str, *instead: Step) -> tuple[Step, ...]:
    return (*(item for item in GOOD if item.id != id_), *instead)


def judge(seen: GangEvidence) -> Mapping[str, Outcome]:
    known: Facts = facts(evidences={GANG: seen})
    return {item.id: item(known) for item in checks_in([gang]) if item.id != "H8"}


def test_a_webhook_that_gives_pods_another_scheduler_is_the_cause_and_named() -> None:
    hooks = tuple(HOOK._replace(name=name) for name in ("policy", "rehearsal-placement"))
    evidence = GangEvidence(steps={"H1": fit()}, rescheduling=Rescheduling("volcano", "default-scheduler", hooks))
    found = facts(evidences={GANG: evidence})
    outcome = gang.gang_fits(found)
    assert (outcome.status, outcome.reason, outcome.objects) == (Status.FAIL, "SchedulerChanged", hooks[:1])
    assert gang.all_or_nothing(found).because == ("H1",)


@pytest.mark.parametrize("hooks", [(), ("policy", "rehearsal-placement")])
def test_what_takes_the_name_of_the_group_from_pods_is_the_cause_and_named(hooks: tuple[str, ...]) -> None:
    refs = tuple(HOOK._replace(name=name) for name in hooks)
    found = facts(evidences={GANG: GangEvidence(steps={"H1": fit()}, ungrouped=refs, gang=KUBERNETES)})
    outcome = gang.gang_fits(found)
    assert (outcome.status, outcome.reason, outcome.objects) == (Status.FAIL, "NotInGroup", refs[:1])
    assert KUBERNETES.mark_text in outcome.message
    assert gang.all_or_nothing(found).because == ("H1",)


def unbound(text: str) -> Outcome:
    """H1 where the scheduler says of a member why the API server did not bind it."""
    first, *others = fit(bound=0, judged=True).members
    seen = replace(fit(bound=0), members=(replace(first, message=f"failed to bind to node n1: {text}"), *others))
    return gang.gang_fits(facts(evidences={GANG: GangEvidence(steps={"H1": seen})}))


def test_a_policy_that_denies_bindings_is_the_cause_and_named() -> None:
    outcome = unbound(
        "pods \"h1-p0\" is forbidden: ValidatingAdmissionPolicy 'ours' with binding 'b' denied request: no"
    )
    assert (outcome.status, outcome.reason) == (Status.FAIL, "BindingRefused")
    assert [str(item) for item in outcome.objects] == ["ValidatingAdmissionPolicy ours"]
    assert not outcome.changes


def test_a_webhook_that_does_not_answer_bindings_is_their_cause() -> None:
    outcome = unbound('Internal error occurred: failed calling webhook "b.example.com": refused')
    assert outcome.because == (frozenset({webhook_ref("b.example.com")}),)


def test_what_changes_the_number_of_a_group_is_the_cause_and_named() -> None:
    small = replace(fit(), groups=(group("h1", 1, "Running"),))
    found = facts(evidences={GANG: GangEvidence(steps={"H1": small}, resized=(HOOK._replace(name="policy"),))})
    outcome = gang.gang_fits(found)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "MinimumChanged")
    assert [item.name for item in outcome.objects] == ["policy"]
    assert "minMember 1" in outcome.message
    assert gang.all_or_nothing(found).because == ("H1",)


def test_a_group_of_kubernetes_that_nobody_writes_follows_from_pods_placed_one_by_one() -> None:
    seen = evidence(replace(fit(), reached=False), gang=KUBERNETES)
    outcome = judge(seen)["H1"]
    assert (outcome.status, outcome.reason, outcome.because) == (Status.WARN, "PhaseNotRunning", ("H2",))
    assert "GenericWorkload" in outcome.todo


def test_a_webhook_that_binds_pods_to_nodes_that_are_none_is_the_cause_and_named() -> None:
    hooks = (HOOK._replace(name="policy"),)
    seen = evidence(fit(bound=0, judged=True), alteration=Alteration(("nodeSelector disk=ssd",), hooks))
    outcome = judge(seen)["H1"]
    assert (outcome.status, outcome.reason, outcome.objects) == (Status.FAIL, "ChangedAtAdmission", hooks)
    assert outcome.because == ("E1",)
    unlike = evidence(fit(bound=0, judged=True), alteration=Alteration(("requests of cpu 2 by container a",), hooks))
    assert judge(unlike)["H1"].reason == "NoRoom"


def test_a_gang_that_is_held_and_released_with_a_good_control_passes_everywhere() -> None:
    outcomes = judge(evidence(*GOOD))
    assert {id_: item.status for id_, item in outcomes.items()} == dict.fromkeys(outcomes, Status.PASS)
    assert set(outcomes) == {"H1", "H2", "H3", "H4", "H5", "H6"}
    verdict = outcomes["H2"]
    assert "5.0 s" in verdict.message
    assert Ref("v1", "Pod", "kfv-smoke-0a1b2c3d", "h2-p0") in verdict.objects


def test_a_simulated_node_is_told_as_such() -> None:
    outcome = judge(evidence(*GOOD, simulated_nodes=frozenset({"n1"})))["H1"]
    assert "n1 (simulated)" in outcome.message


def test_the_events_of_a_step_stand_in_the_report() -> None:
    outcome = judge(evidence(*GOOD))["H1"]
    assert outcome.observed["events"] == [{"at": AT, "name": "h1-p0", "event": "created", "what": "created"}]


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown", ""])
def test_a_queue_that_is_not_open_is_f3s_finding(state: str) -> None:
    outcome = judge(evidence(queue_state=state))["H1"]
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "QueueNotOpen", ("F3",))
    assert (state or "missing") in outcome.message


def test_pods_that_nobody_looked_at_mean_a_dead_scheduler() -> None:
    seen = evidence(fit(bound=0))
    outcome = judge(seen)["H1"]
    assert (outcome.status, outcome.reason) == (Status.FAIL, "SchedulerNotEvaluating")
    assert "H1-timeline.txt" in outcome.evidence
    assert (blamed(seen)[1].reason, blamed(seen)[0]) == ("SchedulerNotEvaluating", "H1")


def test_pods_that_were_judged_and_found_no_place_leave_the_question_open() -> None:
    seen = evidence(fit(bound=0, judged=True))
    outcome = judge(seen)["H1"]
    assert (outcome.status, outcome.reason) == (Status.ERROR, "NoRoom")
    assert "h1-p0: 0/1 nodes are available" in outcome.message
    assert blamed(seen)[1].status is Status.ERROR


def test_a_gang_that_fits_and_is_bound_in_part_is_a_violation() -> None:
    seen = evidence(fit(bound=2, judged=True), *GOOD[1:])
    assert (judge(seen)["H1"].status, judge(seen)["H1"].reason) == (Status.FAIL, "PartialPlacement")
    assert blamed(seen)[1].reason == "PartialPlacement"


def test_bound_pods_without_a_running_group_are_a_warning() -> None:
    outcome = judge(evidence(fit(reached=False), *GOOD[1:]))["H1"]
    assert (outcome.status, outcome.reason) == (Status.WARN, "PhaseNotRunning")


def test_members_bound_far_apart_are_a_warning() -> None:
    slow = [member(f"h1-p{i}", node="n1", bound=3.0 * i) for i in range(3)]
    outcome = judge(evidence(replace(fit(), members=tuple(slow)), *GOOD[1:]))["H1"]
    assert (outcome.status, outcome.reason) == (Status.WARN, "SlowPlacement")
    assert "6.0 s" in outcome.message


def test_a_member_bound_while_another_fits_nowhere_is_the_violation() -> None:
    seen = evidence(*without("H2", blocked(premature=("h2-p0", "h2-p1"), judged=False)))
    outcome = judge(seen)["H2"]
    assert (outcome.status, outcome.reason) == (Status.FAIL, "PartialPlacement")
    assert f"h2-p0 on n1 at {AT}, h2-p1 on n1 at {AT}" in outcome.message
    assert outcome.because == ()
    assert blamed(seen)[0] == "H2"


def test_a_gang_that_could_be_whole_after_all_is_no_violation_and_no_proof() -> None:
    seen = evidence(*without("H2", blocked(premature=("h2-p0", "h2-p1", "h2-p2"), judged=False)))
    outcome = judge(seen)["H2"]
    assert (outcome.status, outcome.reason, outcome.because) == (Status.ERROR, "NotBlocked", ("F4",))
    assert "kfv.io/nowhere" in outcome.todo
    assert blamed(seen)[1].status is Status.ERROR


@pytest.mark.parametrize(
    "worse",
    [
        pytest.param({"queue_state": "Closed"}, id="queue"),
        pytest.param({"refused": "exceeded quota"}, id="refused"),
        pytest.param({"failure": "no answer"}, id="failure"),
    ],
)
def test_a_violation_comes_before_everything_else(worse: dict[str, str]) -> None:
    bad_control, not_released = control(bound=0), released(bound=1)
    violated = blocked(premature=("h2-p0",), lost="Evicted")
    seen = evidence(fit(bound=0), violated, not_released, bad_control, **worse)
    assert blamed(seen)[1].reason == "PartialPlacement"
    assert judge(seen)["H2"].reason == "PartialPlacement"


def test_nothing_bound_is_no_proof_as_long_as_nobody_looked() -> None:
    seen = evidence(*without("H2", blocked(judged=False)))
    outcome = judge(seen)["H2"]
    assert (outcome.status, outcome.reason, outcome.because) == (Status.ERROR, "NeverJudged", ("F4",))
    assert blamed(seen)[1].status is Status.ERROR


def test_one_unjudged_group_is_enough_to_leave_it_open() -> None:
    seen = blocked()
    half = replace(seen, groups=(group("h2", 3, "Inqueue", judged=False),))
    assert judge(evidence(*without("H2", half)))["H2"].reason == "NeverJudged"


@pytest.mark.parametrize(
    "bad", [control(bound=0), control(bound=2, stuck_on="n1")], ids=["no room", "nowhere is there"]
)
def test_a_control_that_does_not_come_out_is_an_error(bad: Step) -> None:
    seen = evidence(*without("H4", bad))
    outcome = judge(seen)["H4"]
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ControlFailed")
    assert (blamed(seen)[1].status, blamed(seen)[0]) == (Status.ERROR, "H4")


def test_a_control_that_nobody_looked_at_sends_to_the_scheduler_and_not_for_room() -> None:
    assert "is running (F1)" in judge(evidence(*without("H4", unseen(control(bound=0)))))["H4"].todo
    assert "make room" in judge(evidence(*without("H4", control(bound=0))))["H4"].todo


def test_the_control_looks_at_the_one_that_fits_nowhere_in_whatever_order_the_pods_came() -> None:
    turned = replace(control(), members=tuple(reversed(control().members)))
    assert judge(evidence(*without("H4", turned)))["H4"].status is Status.PASS
    without_it = replace(control(), members=control().members[:2])
    assert judge(evidence(*without("H4", without_it)))["H4"].reason == "ControlFailed"


def test_one_bound_member_is_control_enough() -> None:
    assert judge(evidence(*without("H4", control(bound=1))))["H4"].status is Status.PASS


def test_a_gang_that_is_not_released_fails() -> None:
    seen = evidence(*without("H3", released(bound=2)))
    outcome = judge(seen)["H3"]
    assert (outcome.status, outcome.reason) == (Status.FAIL, "GangNotReleased")
    assert "only 2 of 3" in outcome.message
    assert blamed(seen)[0] == "H3"


def test_a_gang_that_nobody_looked_at_again_means_a_scheduler_that_stopped() -> None:
    seen = evidence(*without("H3", released(bound=0, looked=False)))
    outcome = judge(seen)["H3"]
    assert (outcome.status, outcome.reason) == (Status.FAIL, "SchedulerNotEvaluating")
    assert "h2-p3" in outcome.message
    assert judge(evidence(*without("H3", released(bound=0))))["H3"].reason == "GangNotReleased"


def test_a_failed_control_comes_before_a_gang_that_is_not_released() -> None:
    seen = evidence(fit(), blocked(), released(bound=0), control(bound=0))
    assert blamed(seen)[1].reason == "ControlFailed"


def test_an_evicted_pod_is_no_violation_and_no_proof() -> None:
    seen = evidence(*without("H2", blocked(lost="Evicted", attempts=2)))
    outcome = judge(seen)["H2"]
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Disturbed")
    assert "2 attempts" in outcome.message


def test_a_repeated_step_says_so() -> None:
    again = blocked(attempts=2, notes=("Repeated once: h2-p0 on no node: Evicted.",))
    outcome = judge(evidence(*without("H2", again)))["H2"]
    assert outcome.status is Status.PASS
    assert outcome.message.endswith("Evicted.")


def test_a_refusal_is_an_error_in_the_servers_words() -> None:
    outcomes = judge(evidence(refused='pods "h1-p0" is forbidden: exceeded quota: kfv'))
    assert (outcomes["H1"].status, outcomes["H1"].reason) == (Status.ERROR, "ProbeRefused")
    assert "exceeded quota: kfv" in outcomes["H1"].message
    assert [outcomes[id_].because for id_ in ("H2", "H3", "H4", "H5", "H6")] == [("H1",)] * 5


def test_a_webhook_that_does_not_answer_is_the_cause() -> None:
    text = 'Pod a/b: Internal error occurred: failed calling webhook "mutatepod.volcano.sh": no endpoints'
    refused = judge(evidence(refused=text))["H1"]
    assert refused.because == (frozenset({webhook_ref("mutatepod.volcano.sh")}),)
    assert "webhook" in refused.todo
    assert judge(evidence(failure=text))["H1"].because == refused.because


def test_an_experiment_that_ends_early_keeps_what_it_has() -> None:
    outcomes = judge(evidence(fit(), failure="no answer from https://10.0.0.1"))
    assert outcomes["H1"].status is Status.PASS
    assert (outcomes["H2"].status, outcomes["H2"].reason) == (Status.ERROR, "ProbeInterrupted")
    assert blamed(evidence(fit(), failure="no answer"))[1].status is Status.ERROR


def test_a_default_scheduler_that_places_in_part_is_what_the_control_wants() -> None:
    outcome = judge(evidence(*GOOD))["H5"]
    assert (outcome.status, "2 of the same 3" in outcome.message) == (Status.PASS, True)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (unganged(bound=0), "NotPartial"),
        (unganged(bound=1), "NotPartial"),
        (unganged(bound=3), "NotPartial"),
        (unganged(bound=0, judged=False), "DefaultSchedulerSilent"),
    ],
    ids=["gangs by itself", "one", "all", "nobody looks"],
)
def test_a_default_scheduler_that_does_otherwise_is_a_warning_and_no_doubt_of_the_gang(seen: Step, reason: str) -> None:
    known = evidence(*without("H5", seen))
    outcome = judge(known)["H5"]
    assert (outcome.status, outcome.reason) == (Status.WARN, reason)
    assert blamed(known)[1].status is Status.PASS


def test_the_stuck_one_bound_instead_of_another_is_not_what_the_control_wants() -> None:
    members = [member("h5-p0", node="n1"), member("h5-p1", judged=True), member("h5-p2", node="n1")]
    assert judge(evidence(*without("H5", step("H5", members, []))))["H5"].reason == "NotPartial"


def test_two_gangs_run_one_after_the_other_and_both_controls_stand_beside() -> None:
    outcome = judge(evidence(*GOOD))["H6"]
    assert outcome.status is Status.PASS
    assert [item["bound"].keys() for item in outcome.observed["controls"]] == [
        {"h6s-a0", "h6s-a1"},
        {"h6c-a0", "h6c-b1"},
    ]
    assert all(item["events"] and item["title"] for item in outcome.observed["controls"])


TORN = {
    "mixed at one moment": (four("H6", "a0", "a1", states=((), ("a0",), ("a0", "b1"), ("a0", "a1"))), "GangsMixed"),
    "both whole": (four("H6", "a0", "a1", "b0", "b1"), "GangsMixed"),
    "half of one": (four("H6", "a0", reached=False), "PartialPlacement"),
    "neither": (four("H6", reached=False), "NoGangPlaced"),
    "nobody looked": (unseen(four("H6", reached=False)), "SchedulerNotEvaluating"),
}


@pytest.mark.parametrize(("seen", "reason"), TORN.values(), ids=TORN)
def test_gangs_that_get_into_each_others_way_fail_from_the_version_on_that_can_tell(seen: Step, reason: str) -> None:
    steps = without("H6", seen)
    for version, status in (("1.8.1", Status.FAIL), ("", Status.FAIL), ("1.8.0", Status.SKIP)):
        outcome = judge(evidence(*steps, volcano_version=version))["H6"]
        assert (outcome.status, outcome.reason) == (status, reason if status is Status.FAIL else "AntiAffinityBug")
    assert blamed(evidence(*steps))[1].status is Status.PASS


def test_a_gang_that_is_bound_pod_by_pod_within_two_seconds_is_whole() -> None:
    close = four("H6", "a0", "a1", at=0.5, states=((), ("a0",), ("a0", "a1")))
    assert judge(evidence(*without("H6", close)))["H6"].status is Status.PASS
    apart = judge(evidence(*without("H6", four("H6", "a0", "a1", at=1.0))))["H6"]
    assert (apart.status, apart.reason) == (Status.WARN, "SlowPlacement")


@pytest.mark.parametrize("bound", [("a0", "b0"), ("a0",), (), ("a0", "a1", "b0")])
def test_without_scarcity_two_gangs_say_nothing(bound: Sequence[str]) -> None:
    steps = [item for item in GOOD if item.id not in {"H6s", "H6", "H6r", "H6c"}]
    outcome = judge(evidence(*steps, four("H6s", *bound), volcano_version="1.10.0"))["H6"]
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ControlFailed")
    assert judge(evidence(*steps, four("H6s", *bound), volcano_version="1.7.0"))["H6"].status is Status.SKIP


def test_a_second_gang_that_does_not_come_fails() -> None:
    steps = without("H6r", four("H6r", reached=False))
    assert judge(evidence(*steps))["H6"].reason == "SecondGangNotPlaced"


@pytest.mark.parametrize("bound", [("a0", "a1"), ("a0",), ()])
def test_without_the_deadlock_of_the_default_scheduler_nothing_is_shown(bound: Sequence[str]) -> None:
    outcome = judge(evidence(*without("H6c", four("H6c", *bound))))["H6"]
    assert (outcome.status, outcome.reason) == (Status.WARN, "NoDeadlockWithoutGang")


@pytest.mark.parametrize("missing", ["H6s", "H6", "H6r", "H6c"])
def test_a_step_of_two_gangs_that_did_not_end_leaves_the_question_open(missing: str) -> None:
    outcome = judge(evidence(*without(missing), failure="no answer"))["H6"]
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ProbeInterrupted")


@pytest.mark.parametrize("disturbed", ["H6s", "H6", "H6r", "H6c"])
def test_an_evicted_pod_of_two_gangs_proves_nothing(disturbed: str) -> None:
    found = next(item for item in TURNS if item.id == disturbed)
    first = replace(found.members[0], lost="Evicted")
    gone = replace(found, members=(first, *found.members[1:]))
    outcome = judge(evidence(*without(disturbed, gone)))["H6"]
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Disturbed")


def test_trouble_behind_the_proof_does_not_touch_it() -> None:
    seen = evidence(*(item for item in GOOD if item.id in {"H1", "H2", "H3", "H4"}), failure="no answer")
    assert blamed(seen)[1].status is Status.PASS
    assert judge(seen)["H5"].status is Status.ERROR


def tracked(name: str, why: str = "") -> Tracked:
    return Tracked(Ref("v1", "Namespace", "", name), f"uid-{name}", why)


def cleaned(*left: Tracked) -> Outcome:
    made = (tracked("kfv-smoke-0a1b2c3d"),)
    account = Cleanup(made, () if left else made, left, (), 5.1)
    return gang.nothing_left_behind(facts(evidences={CLEANUP: account}))


def test_a_clean_end_names_what_is_gone() -> None:
    outcome = cleaned()
    assert outcome.status is Status.PASS
    assert [item.name for item in outcome.objects] == ["kfv-smoke-0a1b2c3d"]


def test_what_is_left_is_told_with_what_holds_it() -> None:
    outcome = cleaned(tracked("kfv-smoke-0a1b2c3d", "is being deleted, finalizers: example.com/hold"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "LeftBehind")
    assert "example.com/hold" in outcome.message


def test_a_namespace_that_its_controller_has_not_looked_at_follows_from_that_one() -> None:
    outcome = cleaned(tracked("kfv-smoke-0a1b2c3d", "is being deleted, finalizers: kubernetes"))
    assert (outcome.status, outcome.because) == (Status.FAIL, (frozenset({CONTROLLERS.lease}),))
    assert "kube-controller-manager" in outcome.todo


def test_no_probe_objects_are_a_skip_and_no_pass() -> None:
    outcome = gang.nothing_left_behind(facts(evidences={CLEANUP: Cleanup((), (), (), (), 0.0)}))
    assert outcome.status is Status.SKIP
