"""Gang scheduling: operators, their flags, runtimes, the configuration of the scheduler."""
