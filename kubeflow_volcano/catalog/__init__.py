"""Which versions go together, where their parts live and what they must bring up: data files and their reader."""
