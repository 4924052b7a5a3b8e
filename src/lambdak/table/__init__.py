"""Any table to design rows and back."""
