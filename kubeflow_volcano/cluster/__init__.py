"""Talking to one Kubernetes API: client, discovery, watches, readiness. Decides nothing about Kubeflow."""
