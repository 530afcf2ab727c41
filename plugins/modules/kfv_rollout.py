"""Documented in kfv_rollout.yml; the action plugin of the same name does the work."""
