"""Which versions the cluster has, and whether a roll-out may follow them in one step."""
