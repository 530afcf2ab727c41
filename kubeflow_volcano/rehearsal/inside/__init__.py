"""Programs that run inside the node. They import the standard library and each other, nothing else."""
