"""The dashboard: pipelines in a browser. It reads state folders and nothing else, and never writes."""
