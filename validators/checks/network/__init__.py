"""Family E: DNS, routes, the gateway, accounts."""
