"""What an editor shows: places, and what may be done about them. The server needs pygls, the rest does not."""
