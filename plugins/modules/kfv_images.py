"""Documented in kfv_images.yml; the action plugin of the same name does the work."""
