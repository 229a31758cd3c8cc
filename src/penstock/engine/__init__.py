"""The only code that starts Spark: Java, jars, the session, the query and its run."""
