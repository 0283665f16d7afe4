"""What is installed, cached, copied and run, as reports."""
