"""Metrics for rewritten text, all on one footing: see `masker.metrics.report.evaluate` and `masker evaluate --help`."""
