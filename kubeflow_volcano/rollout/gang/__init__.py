"""Gang scheduling of training jobs: arguments, rights and companions of their operators."""
