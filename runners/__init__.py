"""How a benchmark is started: request -> cases -> commands -> processes -> raw logs and records."""
