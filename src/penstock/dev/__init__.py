"""What a first run needs and a machine may not have: an embedded Kafka, an event generator, the demo."""
