"""Schemas that somebody else owns: where they are kept, what they say of a row, and what happens when they change.

contract.py   the values and seams below
"""
