"""Questions about sk_equivae, one script each, with the answers in `results/`."""
