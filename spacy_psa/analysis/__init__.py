"""Figures of models, predictions and training runs."""
