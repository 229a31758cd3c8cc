"""What a batch meant to do and did: identity, intents, manifests, outcomes, and the preflight that compares them."""
