"""Documented in kfv_plan.yml; the action plugin of the same name does the work."""
