"""Family H: gang scheduling, proved by experiment."""
