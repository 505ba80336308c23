"""What the training scripts share: arguments and log lines.

Runs on each framework's own Python (3.7 and newer) with nothing but the standard library.
"""
