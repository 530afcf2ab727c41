"""Pods: commands in them, ports forwarded to them, identities, resource quantities, volumes."""
