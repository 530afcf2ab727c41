"""Documented in kfv_validate.yml; the action plugin of the same name does the work."""
