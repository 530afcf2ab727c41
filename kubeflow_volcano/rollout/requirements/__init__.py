"""What variables for pods need of the cluster: nodes, priority classes, claims; judged before the first change."""
