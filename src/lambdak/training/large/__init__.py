"""Training on tables that do not fit in memory or on one machine: shards, transports, and steps taken together."""
