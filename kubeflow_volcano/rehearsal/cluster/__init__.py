"""From a running node to a whole cluster, its status, and its removal."""
