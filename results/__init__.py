"""How a number comes about: logs -> steps -> throughput -> speedup."""
