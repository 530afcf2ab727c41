"""Leftovers of kube-batch, kfctl and ksonnet: what they are, what becomes of their PodGroups, how they go."""
