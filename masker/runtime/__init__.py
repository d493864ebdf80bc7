"""Where log-probabilities are computed. The core knows only the protocol `masker.model.Runtime`."""
