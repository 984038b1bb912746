"""Data by rows, columns and cells, wherever it lies: what is handed out is billed."""
