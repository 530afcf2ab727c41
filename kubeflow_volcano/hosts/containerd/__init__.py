"""containerd on a node: its configuration read, planned and changed so that it asks mirrors."""
