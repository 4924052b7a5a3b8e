"""Pictures of performance, comparison and drift on matplotlib Axes; nothing is computed here."""
