"""A recorded call as source text that makes it again."""
