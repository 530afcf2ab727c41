"""From settings to a cluster that holds them: sources, render, patches, waves, apply, wait."""
