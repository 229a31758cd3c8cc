"""Benchmarks: each prints ratios of variants that ran interleaved in one process. See docs/performance.md."""
