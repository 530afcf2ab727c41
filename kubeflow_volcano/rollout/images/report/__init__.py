"""The image list as a product: for people, for programs, for tools that copy images."""
