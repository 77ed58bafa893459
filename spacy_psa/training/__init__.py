"""Training as in the papers (optimizers, schedules, clipping), with checkpoints and logging."""
