"""The algorithms of the papers and their rivals, each beside its paper line by line."""
