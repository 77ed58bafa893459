"""The papers' optimizers, next to thinc's."""

from __future__ import annotations

from thinc.api import Optimizer
from thinc.backends import get_array_ops
from thinc.types import FloatsXd

from ..errors import Errors


class MomentumSGD(Optimizer):
    """Stochastic gradient descent with momentum, which thinc's `SGD.v1` does not have.

        v ← μ·v + g
        w ← w − η·v

    as `torch.optim.SGD(momentum=μ)` does it. Gradients are not clipped tensor by tensor here: the
    papers clip their global norm, which is the component's `max_grad_norm`.

    learn_rate (float or Iterator[float]): The learning rate η, or a schedule of it.
    momentum (float): The momentum μ.
    L2 (float): Weight decay, added to the gradient.
    use_averages (bool): Whether to keep averages of the parameters, which are then used for
        evaluation and are what is saved.
    """

    # The base class has slots, to refuse misspelled attributes; so have we.
    __slots__ = ["momentum"]

    def __init__(
        self, learn_rate: float, *, momentum: float, L2: float, use_averages: bool
    ) -> None:
        super().__init__(
            learn_rate,
            L2=L2,
            L2_is_weight_decay=False,
            beta1=0.0,
            beta2=0.0,
            grad_clip=0.0,
            use_averages=use_averages,
        )
        self.momentum = momentum

    def __call__(
        self,
        key: tuple[int, str],
        weights: FloatsXd,
        gradient: FloatsXd,
        *,
        lr_scale: float = 1.0,
    ) -> tuple[FloatsXd, FloatsXd]:
        """Update a parameter in place.

        key (Tuple[int, str]): Which parameter it is.
        weights (FloatsXd): The parameter.
        gradient (FloatsXd): Its gradient.
        lr_scale (float): A factor for the learning rate.
        RETURNS (Tuple[FloatsXd, FloatsXd]): The parameter, and the gradient reset to zero.
        """
        self.nr_update[key] += 1
        if self.L2:
            gradient += self.L2 * weights
        velocity = self.mom1.get(key)
        if velocity is None:
            velocity = self.mom1[key] = gradient.copy()
        else:
            velocity *= self.momentum
            velocity += gradient
        # The gradient is not needed any more: a place for the step without an allocation.
        gradient[...] = velocity
        gradient *= self.learn_rate * lr_scale
        weights -= gradient
        gradient.fill(0.0)
        if self.averages is not None:
            ops = get_array_ops(weights)
            if key not in self.averages:
                self.averages[key] = ops.alloc(weights.shape, dtype="float32")
            ops.update_averages(self.averages[key], weights, self.nr_update[key])
        return weights, gradient


def create_sgd(
    learn_rate: float = 0.015,
    momentum: float = 0.9,
    L2: float = 0.0,
    use_averages: bool = False,
) -> Optimizer:
    """Configure stochastic gradient descent with momentum.

    learn_rate (float or schedule): The learning rate. The paper: 0.01 for part-of-speech tagging,
        0.015 for entities and chunks, with `spacy_psa.inverse_epoch_decay.v1`.
    momentum (float): The momentum.
    L2 (float): Weight decay, added to the gradient.
    use_averages (bool): Whether to keep averages of the parameters for evaluation and saving.
    RETURNS (Optimizer): The optimizer.
    RAISES (ValueError): If the momentum is not in [0, 1).

    Source: Wei et al. (2021), section 5.2.
    """
    if not 0.0 <= momentum < 1.0:
        raise ValueError(Errors.P210.format(name="momentum", value=momentum, expected="in [0, 1)"))
    return MomentumSGD(learn_rate, momentum=momentum, L2=L2, use_averages=use_averages)
