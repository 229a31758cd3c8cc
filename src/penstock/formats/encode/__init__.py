"""Rows into the bytes of a message: the formats, seen from the writer."""
