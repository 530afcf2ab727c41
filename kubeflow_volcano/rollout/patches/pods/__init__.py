"""What pods need in this environment: logins, a proxy, nodes, volumes, Knative's tags; own patches follow."""
