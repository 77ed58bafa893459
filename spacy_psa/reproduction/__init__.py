"""The figures of the papers, and how ours compare with them."""
