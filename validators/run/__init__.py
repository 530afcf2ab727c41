"""One validation from options to report."""
