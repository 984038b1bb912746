"""Tables: data read by rows, columns and cells, in memory or elsewhere; every read is billed."""
