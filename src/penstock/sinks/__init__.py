"""Sinks: rows into files in the task, files into the target in the driver, once."""
