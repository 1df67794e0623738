"""Parts of passes: what is decided about one kind of expression, and the hard cases that rows name."""
