"""Tables that do not fit into memory: batches of rows, what is learned of them in one pass, and compact records."""
