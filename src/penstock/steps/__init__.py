"""Steps: what happens to rows between decode and the sinks. Arrow stages run in the worker, Spark stages in the JVM."""
