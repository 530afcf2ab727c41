"""Why pods of a job do not exist: controllers, webhooks, quotas, refusals."""
