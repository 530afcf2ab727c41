"""Family C: workloads, pods, Services, events."""
