"""Networks of users in the place of the paper's."""

import numpy as np
import pytest
import torch

from sk_equivae import Networks, Objective


class Body(torch.nn.Sequential):
    def __init__(self, shape):
        super().__init__(torch.nn.Flatten(), torch.nn.Linear(int(np.prod(shape)), 5))


class Mirror(torch.nn.Sequential):
    def __init__(self, n_inputs, shape):
        n_outputs = int(np.prod(shape))
        super().__init__(torch.nn.Linear(n_inputs, n_outputs), torch.nn.Unflatten(1, shape))


PARTS = ["invariant", "equivariant", "posterior"]


@pytest.mark.parametrize("how", [Body, lambda shape: Body(shape), Body((1, 8, 8))])
@pytest.mark.parametrize("part", PARTS)
def test_body_of_a_user(make, images, part, how):
    X, y = images
    model = make(networks=Networks(**{f"{part}_body": how})).fit(X, y)
    module = model.model_.module
    kinds = [isinstance(getattr(module, p).body[0], Body) for p in PARTS]
    assert kinds == [p == part for p in PARTS]
    assert model.predict(X).shape == (24,)


@pytest.mark.parametrize("how", [Mirror, lambda n, shape: Mirror(n, shape), Mirror(64, (1, 8, 8))])
def test_decoder_of_a_user(make, images, how):
    model = make(networks=Networks(decoder=how)).fit(*images)
    assert isinstance(model.model_.module.decoder.body, Mirror)


def test_weights_of_an_instance_are_kept_and_the_instance_is_not_changed(make, blobs):
    X, y = blobs
    body = Body((4,))
    before = {name: value.clone() for name, value in body.state_dict().items()}
    model = make(
        networks=Networks(invariant_body=body), objective=Objective(teacher_decay=0.0), lr=1e-12
    ).fit(X, y)
    own = model.net_.module_.module.invariant.body[0]
    assert own is not body
    for name, value in body.state_dict().items():
        assert torch.equal(value, before[name])  # not trained
        torch.testing.assert_close(own.state_dict()[name], before[name])  # not drawn anew
    model.set_params(lr=1e-2).fit(X, y)
    trained = model.net_.module_.module.invariant.body[0].state_dict()
    assert not torch.equal(trained["1.weight"], before["1.weight"])
    assert torch.equal(body.state_dict()["1.weight"], before["1.weight"])


@pytest.mark.parametrize(
    "params, message",
    [
        ({"invariant_body": torch.nn.Linear(3, 2)}, r"Linear should map .*\(2, 4\) to .*raised"),
        ({"posterior_body": lambda shape: lambda x: x.sum()}, r"of shape \(2, ...\).*got \(\)"),
        ({"equivariant_body": lambda shape: lambda x: 3}, r"\(2, 4\) to \(2, ...\); got int"),
        ({"decoder": torch.nn.Linear(64, 5)}, r"to \(2, 4\); got \(2, 5\)"),
        ({"decoder": lambda n, shape: torch.nn.Linear(3, 4)}, r"\(2, 64\) to \(2, 4\); it raised"),
    ],
)
def test_networks_of_wrong_shapes(make, blobs, params, message):
    with pytest.raises(ValueError, match=message):
        make(networks=Networks(**params)).fit(*blobs)
