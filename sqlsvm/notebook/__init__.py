"""What a caller in Python sees: how results print, the names in hints, frames, and what can be done with a model."""
