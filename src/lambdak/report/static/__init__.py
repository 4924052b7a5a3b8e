"""What a report says without JavaScript: text and tables, written by Python."""
