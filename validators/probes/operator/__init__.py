"""Probes of the training operator and Trainer: what they make of a job."""
