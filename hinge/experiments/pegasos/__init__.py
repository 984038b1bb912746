"""Shalev-Shwartz, Singer, Srebro: Pegasos (2007)."""
