"""Gang scheduling of training jobs: wiring, permissions, replicas and notifier of their operators."""
