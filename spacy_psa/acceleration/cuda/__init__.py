"""What is faster on a GPU: Triton kernels and CUDA graphs."""
