"""The way in: the gateway's Service, its certificate, an Ingress, cookies, and the address at the end of a run."""
