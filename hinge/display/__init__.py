"""Figures drawn for paper and for the screen, and the report that holds them.

`figure` says what is drawn, `static` draws it with matplotlib and `interactive` with plotly; `report` writes
the page. Both libraries are optional and imported when something is drawn.
"""
