"""The brain of each operating verb; no printing here."""
