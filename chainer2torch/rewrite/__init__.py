"""One LibCST pass that applies a plan's edits to a file; formatting and comments stay as they are."""
