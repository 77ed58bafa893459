"""How sums and maxima over label sequences are computed: `logspace` is the definition, `scaled` the
same on a CPU, sooner, and `fused` on a GPU; `max_product` finds the best sequences, and a `trellis`
answers everything else.
"""
