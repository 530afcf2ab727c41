"""What --fix corrects, and what it leaves to people."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano import foreign
from kubeflow_volcano.validators.explain.manifest.documents import parse
from kubeflow_volcano.validators.explain.manifest.fixing import fix, joined
from kubeflow_volcano.validators.explain.manifest.judging import judge
from kubeflow_volcano.validators.explain.manifest.model import Judgement, Manifest
from kubeflow_volcano.validators.explain.manifest.surroundings import surroundings

TRAP = """\
# The job of a tutorial.
apiVersion: scheduling.incubator.k8s.io/v1alpha1
kind: PodGroup
metadata: {name: group}
spec: {minMember: 9}
---
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist, namespace: team-a}
spec:
  schedulerName: kube-batch  # a gang
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template: &pod
        spec:
          # the first
          containers:
            - {name: tensorflow, image: "gcr.io/ml-pipeline/mysql:8"}
    PS:
      template: *pod
"""


def offline(manifests: Sequence[Manifest]) -> Judgement:
    return judge(manifests, surroundings(manifests, None))


def fixed(text: str) -> tuple[str, list[list[str]], list[list[str]]]:
    """The corrected text, and the reasons that were corrected and that stay, of each manifest."""
    sources, answer = fix([parse("jobs.yaml", text, "team-a")], "team-a", offline)
    each = answer.manifests
    return (
        joined(sources),
        [[flaw.reason for flaw in item.corrected] for item in each],
        [[flaw.reason for flaw in item.findings] for item in each],
    )


def test_what_takes_no_decision_is_corrected_and_the_rest_stays_a_finding() -> None:
    text, corrected, left = fixed(TRAP)
    assert corrected == [["KubeBatchPodGroup"], ["SchedulerNameMisplaced", "ImageGone"]]
    assert left == [["NotEnoughPods"], ["RequestsMissing"]]
    assert foreign.parse(text, "")[1]["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"] == {
        "schedulerName": "volcano",
        "containers": [{"name": "tensorflow", "image": "docker.io/library/mysql:8"}],
    }
    lines = set(TRAP.splitlines()) - set(text.splitlines())
    assert len(lines) == 3, "comments and all other lines stay"


def test_requests_are_written_with_amounts_of_a_person() -> None:
    def answered(manifests: Sequence[Manifest]) -> Judgement:
        return judge(manifests, surroundings(manifests, None, requests={"cpu": "100m", "memory": "128Mi"}))

    once, answer = fix([parse("jobs.yaml", TRAP, "team-a")], "team-a", answered)
    assert [[flaw.reason for flaw in item.findings] for item in answer.manifests] == [["NotEnoughPods"], []]
    pods = foreign.parse(joined(once), "")[1]["spec"]["tfReplicaSpecs"].values()
    for replicas in pods:
        (container,) = replicas["template"]["spec"]["containers"]
        assert container["resources"] == {"requests": {"cpu": "100m", "memory": "128Mi"}}
    again, _ = fix(once, "team-a", answered)
    assert joined(again) == joined(once)


def test_a_second_run_changes_nothing() -> None:
    text, _, _ = fixed(TRAP)
    again, corrected, _ = fixed(text)
    assert (again, corrected) == (text, [[], []])


def test_a_name_that_the_pods_have_already_is_kept() -> None:
    text = TRAP.replace("        spec:\n", "        spec:\n          schedulerName: own\n")
    done, _, _ = fixed(text)
    assert foreign.parse(done, "")[1]["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["schedulerName"] == "own"


def test_items_of_a_list_are_corrected_in_it() -> None:
    item = '{"apiVersion": "scheduling.sigs.dev/v1alpha2", "kind": "Queue", "metadata": {"name": "q"}}'
    text, corrected, _ = fixed(f'{{"apiVersion": "v1", "kind": "List", "items": [{item}]}}')
    assert corrected == [["KubeBatchQueue"]]
    assert '"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"' in text


def test_several_files_become_one_of_several_documents() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}"
    sources = [parse("a", pod, "x"), parse("b", f"---\n{pod}\n", "x"), parse("c", pod, "x")]
    assert len(foreign.parse(joined(sources), "")) == 3
