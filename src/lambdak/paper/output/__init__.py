"""Published numbers beside ours: tables and figures."""
