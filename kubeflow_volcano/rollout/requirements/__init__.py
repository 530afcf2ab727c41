"""What variables for pods need of the cluster: nodes, priority classes; judged before the first change."""
