"""Results as text, JSON and Markdown."""
