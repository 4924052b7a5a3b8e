"""What a protected column and its proxies do to decisions: measured on rows, and proven for every row."""
