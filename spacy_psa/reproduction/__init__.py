"""The published results of the papers, and how ours compare with them."""
