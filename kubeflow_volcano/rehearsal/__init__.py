"""The embedded rehearsal cluster: a real Kubernetes node in private namespaces, beside simulated GPU nodes."""
