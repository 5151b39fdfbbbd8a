"""What reproduces papers: docs/papers.md. Each folder here belongs to the layer of the same name."""
