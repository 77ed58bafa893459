"""How sums and maxima over label sequences are computed.

`logspace` is the definition; `scaled` computes the same on a CPU, sooner, and `triton` on a GPU.
`trellis` has the sums over paths that every other question is answered with, `max_product` the best
paths.
"""
