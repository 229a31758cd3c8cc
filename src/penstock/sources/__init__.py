"""Where records come from. The words of the pipeline file are registered here, without Spark."""

from penstock.sources.options import Kafka

__all__ = ["Kafka"]
