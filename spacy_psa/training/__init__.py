"""How the papers train: optimizers, schedules, clipping."""
