"""Objects on their way out: which ones a field manager applied, in which order they go, and what must stay."""
