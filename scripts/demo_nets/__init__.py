"""The two demo networks: what they are, how they are trained, exported and judged."""
