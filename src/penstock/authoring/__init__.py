"""Proposing a pipeline file: sample a topic, say what it holds, infer a schema with its evidence, write the file."""
