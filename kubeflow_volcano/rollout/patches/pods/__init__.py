"""What pods need in this environment: logins, a proxy, nodes, volumes, stores, Knative's tags; own patches follow."""
