"""What is trained: one folder per implementation, each with its manifest and its own environment."""
