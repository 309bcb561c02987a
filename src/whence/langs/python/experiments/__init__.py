"""Whole runs with some of the changes of another version: which of them repair the program?"""
