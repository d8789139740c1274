"""One thread a worker: kernels on such small tensors are slower on two."""

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "NUMBA")
}
"""For the environment, before numpy and torch are imported."""
