"""Pictures of performance on matplotlib Axes; nothing is computed here."""
