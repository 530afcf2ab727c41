"""Admission webhooks: which objects they intercept, and minimal objects for dry runs."""
