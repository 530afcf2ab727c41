"""What pods need in this environment: logins, a proxy, nodes, Knative's tags; then come the inventory's patches."""
