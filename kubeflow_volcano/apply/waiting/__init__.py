"""What must be ready before other objects are sent: CRDs served, workloads ready, webhooks answering."""
