"""What keeps a job's PodGroup and pods from being created."""
