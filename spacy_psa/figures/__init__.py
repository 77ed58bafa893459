"""Charts and pages. A leaf: it knows nothing of components, corpora or scores."""
