"""What is known about the subjects of checks: pods, workloads, Services, webhooks, storage, sign-in."""
