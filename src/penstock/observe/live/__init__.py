"""The live view of `penstock run` in a terminal.

events -> state.py (what is known, as a frozen value) -> render.py (lines of text) -> view.py (a thread that draws them)
"""
