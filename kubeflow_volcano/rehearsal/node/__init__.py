"""The real node as the host sees it: files, daemons, network, control groups, certificates."""
