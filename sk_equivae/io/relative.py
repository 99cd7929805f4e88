"""`RelativeStyles.forward` in PyTorch, for ONNX graphs."""

import numpy as np
import torch
from torch import Tensor

from ..fitted.relative import LEVELS, RelativeStyles


def relative_to_class(relative: RelativeStyles, v: Tensor, codes: Tensor) -> Tensor:
    """Return v relative to its class, by operations that can be exported.

    Parameters
    ----------
    relative : RelativeStyles
        The maps of the classes.
    v : Tensor of shape (n, n_equivariant)
        Means of q(v | r_y, x).
    codes : Tensor of shape (n,)
        Classes of the rows.

    Returns
    -------
    u : Tensor of shape (n, n_equivariant)
        As `RelativeStyles.forward` returns it, in the dtype of v.
    """
    select = torch.from_numpy(np.eye(v.shape[1])[relative.used])  # (d, n_equivariant)
    upper = torch.from_numpy(np.linalg.inv(relative.lower).transpose(0, 2, 1).copy())
    levels, quantiles = torch.from_numpy(LEVELS), torch.from_numpy(relative.quantiles)
    centred = v.double() @ select.T - torch.from_numpy(relative.mean)[codes]
    u = torch.matmul(centred.unsqueeze(1), upper[codes]).squeeze(1)
    for layer, rotation in enumerate(relative.rotations):
        u = u @ torch.from_numpy(rotation)
        points = quantiles[:, layer][codes]  # (n, d, n_quantiles)
        place = (u.unsqueeze(2) > points[:, :, 1:-1]).sum(dim=2)
        start, end = (points.gather(2, (place + i).unsqueeze(2)).squeeze(2) for i in (0, 1))
        slope = (levels[place + 1] - levels[place]) / (end - start)
        u = levels[place] + (u - start) * slope
    return (u @ select).to(v.dtype)
