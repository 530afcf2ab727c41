"""How long things may take before that counts, in one place. Tests pass other values; people do not choose them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Limits by which checks judge and probes give up, all in seconds; the check that each belongs to is named."""

    grace_seconds: float = 60.0
    """How long an object may take to become ready before that counts (checks.md, C8)."""
    settle_seconds: float = 2.0
    """Pause before a snapshot is taken again because a workload is behind its pods; five times at most."""
    dry_run_seconds: float = 5.0
    """A webhook answers a dry run within this time (checks.md, B4)."""
    skew_warn_seconds: float = 5.0
    skew_fail_seconds: float = 60.0
    """Differences between clocks (checks.md, A3)."""
    stuck_seconds: float = 120.0
    """How long the deletion of a namespace may take (checks.md, B8)."""
    recent_seconds: float = 900.0
    """Events older than this are history (checks.md, C10)."""
    stale_seconds: float = 600.0
    """How long a PodGroup may be without pods (F8)."""
    broken_seconds: float = 60.0
    """How long a gang may be incomplete (F9)."""
    slow_dns_seconds: float = 1.0
    """95 % of DNS answers come within this time (checks.md, E1)."""

    volume_seconds: float = 120.0
    """For this time there may be no news while a new volume is provisioned and written to, or removed (D5, D6)."""
    pod_seconds: float = 90.0
    """For this time there may be no news of a probe pod that needs no new volume (A5, D5, D6, D8)."""

    bind_seconds: float = 30.0
    """For this time there may be no news of a few tiny pods until a working scheduler has bound them (H1 to H6)."""
    spread_seconds: float = 2.0
    """Within this time all members of one gang are bound; each binding is a request of its own (H1, H6)."""
    hold_seconds: float = 5.0
    """For this time at least, no member of a gang that cannot be complete may be bound (H2)."""
    periods_held: int = 5
    """Or for this number of schedule periods, where that is longer (checks.md, H2)."""

    made_seconds: float = 30.0
    """Within this time a working operator has created the PodGroup and, once that may run, the pods (G5, G11)."""
    placed_seconds: float = 10.0
    """How long the binding of these pods is waited for; whether the cluster has room is H1's matter."""
    nudge_seconds: float = 15.0
    """An operator that does not watch PodGroups has reconciled the job again within this time, or never will (G5)."""
    judged_seconds: float = 30.0
    """For this time there may be no news of a job's pods until their scheduler has evaluated them (G6)."""
    job_hold_seconds: float = 3.0
    """For this time no pod of a job may be bound while minMember cannot be met (G6)."""
    done_seconds: float = 60.0
    """For this time there may be no news of pods that do nothing until their job has succeeded (G6)."""

    accept_seconds: float = 300.0
    """Within this time an example runs or completes; the longest part is usually the pull of its image (J1 to J8)."""
    pipeline_seconds: float = 600.0
    """Within this time a pipeline of four steps has run, each with its driver and pulls of its own (J9)."""
    settle_running_seconds: float = 10.0
    """How long an example that runs is followed, to see whether it fails at once (J1 to J8)."""
