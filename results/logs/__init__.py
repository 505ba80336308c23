"""Reading logs of any format: from a path to steps, a throughput and a verdict."""
