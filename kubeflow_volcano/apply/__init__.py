"""A graph of objects on its way to any cluster: survey, order, send, wait. Knows neither Kubeflow nor settings."""
