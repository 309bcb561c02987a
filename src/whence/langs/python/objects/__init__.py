"""One model of live objects: what is in them, how they are walked, compared and made again."""
