"""Products of matrices in NumPy that do not compete with PyTorch's threads.

For large products, NumPy's BLAS uses threads of its own, which get no processor while PyTorch's
threads wait for more work in a busy loop. On two cores, a product then takes thirty times as long.
"""

import numpy as np
import torch

# Multiplications in one product. OpenBLAS, which NumPy is built with, computes smaller products in
# the calling thread, where they are faster than PyTorch's.
FEW = 1 << 19
LEAST = 16  # rows of a part of a sum, fewer of which would be slow


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Multiply two matrices, with PyTorch's threads if the product is large.

    a (np.ndarray): *Shape:* (n, k). In float64, as b.
    b (np.ndarray): *Shape:* (k, m)
    out (Optional[np.ndarray]): Where to write the product, contiguous. *Shape:* (n, m)
    RETURNS (np.ndarray): *Shape:* (n, m)
    """
    if a.shape[0] * b.size < FEW or torch.get_num_threads() == 1:
        return np.dot(a, b, out)  # less overhead than matmul
    if out is None:
        out = np.empty((a.shape[0], b.shape[1]))
    torch.mm(torch.from_numpy(a), torch.from_numpy(b), out=torch.from_numpy(out))
    return out


def sum_of_outer_products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sum the outer products of the rows of two matrices.

    a (np.ndarray): *Shape:* (n, k). In float64, as b.
    b (np.ndarray): *Shape:* (n, m)
    RETURNS (np.ndarray): Σ_t a_ti b_tj. *Shape:* (k, m)
    """
    size = a.shape[1] * b.shape[1]
    if len(a) * size < FEW or size * LEAST >= FEW or torch.get_num_threads() == 1:
        return product(a.T, b)
    total = np.zeros((a.shape[1], b.shape[1]))
    n_rows = (FEW - 1) // size
    for begin in range(0, len(a), n_rows):
        part = slice(begin, begin + n_rows)
        total += np.dot(a[part].T, b[part])
    return total
