"""Figures as plain values, what draws them, and the HTML page that holds them."""
