"""Watches without gaps, and waits for readiness."""
