"""Prolog: goals that SWI-Prolog runs, as trees of answers that are wrong or missing."""
