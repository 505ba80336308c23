"""What is trained: one folder per implementation, with its manifest and environment."""
