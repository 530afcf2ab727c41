"""Documented in kfv_scenario.yml; the action plugin of the same name does the work."""
