"""Family B: CRDs, APIServices, admission webhooks, certificates, namespaces."""
