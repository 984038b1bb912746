"""Hazan, Koren, Srebro: Beating SGD, or SIMBA (2011)."""
