"""The bundle of an installation, for networks without a way out: a directory whose files are verified before use."""
