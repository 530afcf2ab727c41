"""What Volcano's scheduler needs before it evicts pods for a gang: single settings, and whole presets of them."""
