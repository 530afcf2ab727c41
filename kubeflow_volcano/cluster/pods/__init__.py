"""Pods: exec, port-forward, resource quantities, volumes and their users."""
