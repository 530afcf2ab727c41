"""Documented in kfv_settings.yml; the action plugin of the same name does the work."""
