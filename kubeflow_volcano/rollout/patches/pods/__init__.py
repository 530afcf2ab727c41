"""What pods need in this environment: logins at registries, a proxy, Knative's tags; then the inventory's patches."""
