"""What happened (events), and what is made of it: log lines, status, later metrics and alerts."""
