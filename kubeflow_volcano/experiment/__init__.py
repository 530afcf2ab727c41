"""The kit for experiments on a cluster: a session that removes what it made, and a record of what the scheduler did."""
