"""Probes of the network: DNS, routes between nodes, the gateway, sign-in."""
