"""The project's examples run on the cluster: jobs of each kind, notebooks, pipelines, experiments, models."""

from __future__ import annotations

from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.checks.refusals import not_tried
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped
from kubeflow_volcano.validators.probes.acceptance.examples import CLAIMS, Acceptance, Attempt, acceptance_probe
from kubeflow_volcano.validators.probes.acceptance.examples import NOTEBOOK as NOTEBOOK_EXAMPLE
from kubeflow_volcano.validators.probes.acceptance.pipelines import PIPELINE_RUN
from kubeflow_volcano.validators.probes.acceptance.states import State

_OPT_IN = "acceptance"
_CLAIMS = dict([CLAIMS])
_KUBEFLOW = ("mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs", "jaxjobs")
_TODO = "see the named pods and the log of the kind's controller; the example is in examples/."
_JOBS = ("jobs/tfjob", "jobs/pytorchjob", "jobs/mpijob", "jobs/xgboostjob", "jobs/paddlejob", "jobs/jaxjob")

OPERATOR_JOBS = acceptance_probe("jobs", _JOBS, {"kubeflow.org": _KUBEFLOW}, "training-operator")
TRAIN_JOB = acceptance_probe("trainjob", ("jobs/trainjob",), {"trainer.kubeflow.org": ("trainjobs",)}, "trainer")
VCJOB = acceptance_probe("vcjob", ("jobs/vcjob",), {"batch.volcano.sh": ("jobs",)}, "")
NOTEBOOK = acceptance_probe(
    "notebook", (NOTEBOOK_EXAMPLE,), {"kubeflow.org": ("notebooks",), **_CLAIMS}, "notebook-controller"
)
TENSORBOARD = acceptance_probe(
    "tensorboard",
    ("tensorboard",),
    {"tensorboard.kubeflow.org": ("tensorboards",), "kubeflow.org": ("tfjobs",), **_CLAIMS},
    "tensorboard-controller",
)
PIPELINE = acceptance_probe(
    "pipeline", ("pipeline",), {"argoproj.io": ("workflows",), **_CLAIMS}, "pipelines", State.COMPLETED
)
EXPERIMENT = acceptance_probe(
    "experiment", ("experiment", "experiment-trainjob"), {"kubeflow.org": ("experiments",)}, "katib", State.COMPLETED
)
MODEL = acceptance_probe("model", ("inferenceservice",), {"serving.kserve.io": ("inferenceservices",)}, "kserve")


@check(
    "J1",
    "job-examples",
    severity=Severity.MAJOR,
    probe=OPERATOR_JOBS,
    component="training-operator",
    opt_in=_OPT_IN,
)
def job_examples(facts: Facts) -> Outcome:
    """The example of each job kind of the training operator runs.

    The gangs of `examples/jobs` are created one after the other, with their own images, and each must run or succeed
    within 300 s. A pod without a node names the reason; `kubeflow-volcano explain job` says more about a job that
    you create yourself. An image that cannot be pulled has to be copied to where the nodes pull from.
    """
    return _verdict(facts, OPERATOR_JOBS, "training-operator")


@check("J2", "trainjob-example", severity=Severity.MAJOR, probe=TRAIN_JOB, component="trainer", opt_in=_OPT_IN)
def trainjob_example(facts: Facts) -> Outcome:
    """The example of a TrainJob runs.

    It uses the runtime torch-distributed of the release. If its pods have no node, see G7 to G11 for the gang of the
    runtimes.
    """
    return _verdict(facts, TRAIN_JOB, "trainer")


@check("J3", "vcjob-example", severity=Severity.MAJOR, probe=VCJOB, opt_in=_OPT_IN)
def vcjob_example(facts: Facts) -> Outcome:
    """The example of Volcano's Job runs.

    If its pods are not created, see the log of volcano-controllers; if they have no node, H1 says whether any gang is
    scheduled.
    """
    return _verdict(facts, VCJOB, "")


@check(
    "J4",
    "notebook-example",
    severity=Severity.MAJOR,
    probe=NOTEBOOK,
    component="notebook-controller",
    opt_in=_OPT_IN,
)
def notebook_example(facts: Facts) -> Outcome:
    """The example of a notebook starts, with each image that the inventory offers.

    Without kubeflow_notebooks its own image is tried. It needs the account default-editor of a profile, so name the
    namespace of one with --probe-namespace. If there is no pod, see the log of the notebook controller.
    """
    return _verdict(facts, NOTEBOOK, "notebook-controller")


@check(
    "J5",
    "tensorboard-example",
    severity=Severity.MAJOR,
    probe=TENSORBOARD,
    component="tensorboard-controller",
    opt_in=_OPT_IN,
)
def tensorboard_example(facts: Facts) -> Outcome:
    """The example of a TensorBoard starts over the logs of a job.

    The image of TensorBoard is set in its controller. A volume that one node at a time mounts keeps it Pending while
    the job runs on another node.
    """
    return _verdict(facts, TENSORBOARD, "tensorboard-controller")


@check("J6", "pipeline-example", severity=Severity.MAJOR, probe=PIPELINE, component="pipelines", opt_in=_OPT_IN)
def pipeline_example(facts: Facts) -> Outcome:
    """The four steps of the example pipeline succeed.

    They need the account default-editor of a profile and its access to the object store, so name the namespace of one
    with --probe-namespace. The message is that of the workflow controller; its log has more.
    """
    return _verdict(facts, PIPELINE, "pipelines")


@check("J7", "experiment-example", severity=Severity.MAJOR, probe=EXPERIMENT, component="katib", opt_in=_OPT_IN)
def experiment_example(facts: Facts) -> Outcome:
    """The example experiment finds a value by gang-scheduled trials.

    Katib collects metrics in namespaces of profiles only, so name one with --probe-namespace. Trials that run and
    report nothing lack the sidecar: see the webhook of Katib.
    """
    return _verdict(facts, EXPERIMENT, "katib")


@check("J8", "model-example", severity=Severity.MAJOR, probe=MODEL, component="kserve", opt_in=_OPT_IN)
def model_example(facts: Facts) -> Outcome:
    """The example model is served.

    Its model is fetched from Google's storage, which nodes without internet access cannot reach: waive the check
    there. Otherwise the conditions of the InferenceService and its pod say what is missing.
    """
    return _verdict(facts, MODEL, "kserve")


@check("J9", "pipeline-run", severity=Severity.MAJOR, probe=PIPELINE_RUN, component="pipelines", opt_in=_OPT_IN)
def pipeline_run(facts: Facts) -> Outcome:
    """A pipeline that is uploaded to Pipelines runs to its end.

    The pipeline train_and_predict of `examples` is uploaded as the account default-editor of a profile, so name the
    namespace of one with --probe-namespace. Its run has 600 s; then run, pipeline, experiment and claim are removed.
    What Pipelines itself never removes stays: its records in ML Metadata, and files in the object store. The requests
    are those of kfp, the official client: tests compare them. No test of this project has met a real API server.
    """
    return _verdict(facts, PIPELINE_RUN, "pipelines")


def _verdict(facts: Facts, probe: Probe[Acceptance], component: str) -> Outcome:
    if component not in {"", *facts.expectations.components}:
        return skipped("NotExpected", f"the chosen components do not include {component}.")
    evidence = facts.evidence(probe)
    tried = [item for item in evidence.attempts if not item.absent]
    left_out = "; ".join(f"{item.example}: {item.absent}" for item in evidence.attempts if item.absent)
    if evidence.failure:
        return not_tried(evidence.failure)
    if not tried:
        return skipped("NothingToTry", f"{left_out}.")
    objects = [item.object for item in tried if item.object]
    observed = {item.example: f"{item.state.name.lower()} after {item.seconds} s: {item.said}" for item in tried}
    short = [item for item in tried if not item.reached]
    if not short:
        text = f"{counted(len(tried), 'example')} reached the goal: {', '.join(map(_describe, tried))}."
        if simulated := sum(item.simulated for item in tried):
            text += f" {simulated} of their pods were simulated: no container ran in them."
        return passed(f"{text}{f' Left out: {left_out}.' if left_out else ''}", objects=objects, observed=observed)
    return failed(
        "ExampleFailed" if any(item.state is State.FAILED for item in short) else "ExampleNotReached",
        f"{'; '.join(map(_fault, short))}.",
        expected=f"each example {'completes' if evidence.goal is State.COMPLETED else 'runs or completes'} "
        f"within {evidence.limit_seconds:.0f} s",
        observed=observed,
        objects=objects,
        todo=next((item.todo for item in short if item.todo), _TODO),
    )


def _describe(item: Attempt) -> str:
    return f"{item.example} {item.state.name.lower()} after {item.seconds:.0f} s"


def _fault(item: Attempt) -> str:
    end = "failed" if item.state is State.FAILED else f"was {item.state.name.lower()} after {item.seconds:.0f} s"
    waits = f"; {item.waiting}" if item.waiting else ""
    return f"{item.example} {end} ({item.said}){waits}"
