"""Formats: value bytes into typed columns, or a verdict that says why not."""
