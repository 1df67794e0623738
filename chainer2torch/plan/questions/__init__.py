"""Questions about the source, answered from facts and rules; they decide nothing."""
