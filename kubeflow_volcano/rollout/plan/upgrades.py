"""What the plan says about upgrades to the release; what is installed only a cluster can say."""

from __future__ import annotations

from kubeflow_volcano.catalog.edges import edges
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.versions.judge import describe_step, steps_for


def judge_upgrades(settings: Settings) -> Finding:
    """From which releases one step leads to this one, and what the step brings to the chosen components."""
    release = settings.release.version
    into = [edge for edge in edges() if edge.target == release]
    steps = [
        (edge, step) for edge in into for step in steps_for(edge, {item.component for item in edge.steps}, settings)
    ]
    names = ", ".join(step.id for _, step in steps if step.confirm)
    found = f"in one step from {', '.join(edge.origin for edge in into)}" if into else "none: it is the first release"
    confirmed = f"; these steps have to be confirmed: {names}" if names else ""
    described = ((edge, step, describe_step(step, prunes=settings.prune)) for edge, step in steps)
    details = tuple(f"from {edge.origin}: {step.id}: {text}" for edge, step, text in described)
    return Finding("upgrade", f"Upgrade to Kubeflow {release}", Verdict.PASS, f"{found}{confirmed}.", details)
