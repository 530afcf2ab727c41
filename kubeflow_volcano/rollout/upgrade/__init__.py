"""An upgrade: what it would do as a plan, the jobs that run meanwhile, and a report on both."""
