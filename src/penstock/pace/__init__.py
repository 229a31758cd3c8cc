"""Pace: how many rows the next batch may read. Decided without Spark: state and observation in, decision out."""
