"""The command line: arguments, settings, exit codes, progress."""
