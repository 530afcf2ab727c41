"""Documented in kfv_host_preflight.yml; the action plugin of the same name does the work."""
