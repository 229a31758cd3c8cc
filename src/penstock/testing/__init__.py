"""The public test kit: a real broker, real runs of the command line, and the suites that every part passes."""
