"""`Objective`: the function that training maximises, and how it uses unlabelled rows."""

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..pseudo_labels import Alignment, Discriminant, Experts, Graph, Source, Teacher
from .nested import NestedSettings

_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_FRACTION = Interval(Real, 0, 1, closed="both")


class Objective(NestedSettings):
    """The function that training maximises, and how it uses unlabelled rows.

    Pass it to an estimator as `objective`. A grid search reaches its fields by names such as
    `objective__label_weight`. The symbols are explained in `EquiVAEClassifier`.

    Parameters
    ----------
    labeled_share : float or "auto", default="auto"
        Weight of the labelled rows in the bound on all rows (Eq. 7), relative to the total.
        "auto" is their share of the rows, as in the equation. Increase it if labelled rows are
        reconstructed badly.
    label_weight : float, default=1.0
        Weight of the mean of log q(y|x) over the labelled rows; the bound is a mean over all rows.
        On this scale it is n_labeled / n_rows in the paper.
    class_threshold : float in [0, 1) or "auto", default="auto"
        Classes with a smaller q(y|x) are left out of the sum over classes (Eq. 6), and need not
        be decoded. 0 is the exact sum. "auto" is 0.01 for images, and 0.001 for tabular rows,
        which are cheap to decode.
    max_classes : int or "auto", default="auto"
        Largest number of classes in the sum, unless `class_threshold` is 0. More classes take
        longer and teach little at the start of training, when all classes are plausible. "auto"
        is 3 for images, and no limit for tabular rows.
    kl_weight : float, default=1.0
        Weight of KL[q(v|r_y,x) || p(v)] in training. With less than 1, v tells more of a row,
        which is then reconstructed better; but what training maximises is no bound any more.
    kl_warmup : float in [0, 1] or "auto", default="auto"
        Fraction of training over which the weight of KL[q(v|r_y,x) || p(v)] rises from 0 to 1,
        so that the decoder learns to use v first. "auto" is 0.4 for images and 0 for tabular
        rows, where v would take over information that belongs in r_y. 0 in the paper. Not used
        by `partial_fit`.
    consistency_weight : float, default=1.0
        Weight of log q(y|x) of augmented unlabelled rows, at the class that the averaged
        networks confidently predict for the row itself. 0 in the paper.
    prototype_weight : float or "auto", default="auto"
        Weight of the log-probability of a row's class under the "prototype" rule of
        `predict_with`. "auto" is n_features / 12, but at least 1, since the bound grows with
        the number of features. 0 in the paper.
    linear_weight : float, default=3.0
        Weight of the log-probability of a row's class by a linear classifier on f_inv(x),
        relative to `prototype_weight`. It gets training started: as long as f_inv does not
        separate the classes, distances to the prototypes have no gradient.
    teacher_decay : float in [0, 1), default=0.99
        Decay of the moving average of the weights. The averaged networks label the unlabelled
        rows during training, and predict after it. With 0 there is no average, and q(y|x) is
        learnt through the bound, as in the paper.
    confidence : float in [0, 1], default=0.8
        An unlabelled row is confident, and used like a labelled one, if q(y|x) of its most
        probable class is at least this. Increase it if wrong labels spread; decrease it if too
        few rows are used. Not used for tabular rows that `experts` have weighed: these count
        for each class as much as it is probable.
    complement_pool : {"confident", "labeled"}, default="confident"
        The rows that r_y is computed from: labelled and confident unlabelled rows, or labelled
        rows only, as in the paper.
    min_complements : int, "auto" or "m_max", default="auto"
        Smallest number of labelled rows per class in a batch, as long as the class has them, so
        that r_y is computed from rows of the batch. Missing rows are added to the batch, and
        serve for nothing else. "auto" is 2; if a batch cannot hold two rows of every class, then
        only for classes of the batch. "m_max" is m_max + 1, so that any m of the paper can be
        drawn without the row itself; slow in small batches.
    alignment : "auto", None or Alignment, default="auto"
        Correct q(y|x) of unlabelled rows so that their classes are as frequent as among the
        labelled rows. Set it to None if you know that they are not.
    graph : "auto", None or Graph, default="auto"
        Spread labels over a graph of nearest neighbours before training. For images, q(y|x) of
        unlabelled rows is multiplied by the result if few rows are labelled. For tabular rows
        the result is one of the opinions that `experts` weighs. Set it to None if nearest
        neighbours often belong to different classes. Not used by `partial_fit`, nor if
        `teacher_decay` is 0.
    discriminant : "auto", None or Discriminant, default="auto"
        A linear discriminant that learns from unlabelled rows too. For tabular rows only: it is
        one of the opinions that `experts` weighs.
    experts : "auto", None or Experts, default="auto"
        Classifiers of the labelled rows. For tabular rows, their opinions and those of graph and
        discriminant are weighed by held-out labels, and the networks learn the result for the
        unlabelled rows. Every row, labelled or not, then has the same weight in the terms that are
        added to the bound. With None the networks learn from their own confident predictions, as
        for images. Not used by `partial_fit`, nor if `teacher_decay` is 0.
    hidden_fraction : float in [0, 0.5] or "auto", default="auto"
        Fraction of the values of a table that is hidden from q(v|r_y,x) in training, at random.
        The bound still counts them, so that v is learnt from rows with missing values. "auto"
        is 0.25 if numbers of the table are missing, else 0. Not for images.
    labeled_fraction : float in [0, 1], default=1/3
        Smallest fraction of labelled rows in a batch with unlabelled rows. If labels are few,
        their rows are repeated within an epoch, but not within a batch.
    labeled_warmup : int or "auto", default="auto"
        Number of batches of labelled rows alone with which training starts, if there are
        unlabelled rows. Where classes are hard to learn, unlabelled rows tell nothing before
        the labelled ones have been learnt. "auto" is a quarter of the other batches, at most
        1,000, for photographs, and 0 for other rows. Not used by `partial_fit`.
    max_batch_size : int, "auto" or None, default="auto"
        The batch size doubles several times during training, up to this size, as in the paper.
        "auto" is 256, or less if an epoch would have fewer than 100 batches. With None the
        batch size is constant.
    lr_warmup : float in [0, 1] or "auto", default="auto"
        Fraction of training over which the learning rate rises from 0 to `lr`. With the full
        rate from the start, v uses few of its dimensions and the bound is worse. "auto" is 0.3
        for images and 0 for tabular rows; 0 in the paper. Not used by `partial_fit`, nor if the
        callbacks include a learning-rate scheduler.
    lr_decay : {"cosine", None}, default="cosine"
        Schedule of the learning rate. Not used by `partial_fit`, nor if the callbacks include a
        learning-rate scheduler.
    gradient_clip : float or None, default=None
        Largest norm of the gradient. Try 1 if training diverges.
    calibrate : bool, default=True
        Whether to learn a temperature for each rule of `predict_with` after training, from
        rows that the networks do not know by heart, and to draw `predict_proba` towards the
        class frequencies for rows far from those of training. Predicted classes do not change,
        except those of the likelihood rule: from the same rows it learns how much it counts
        whether v is usual within a class. False in the paper.

    Examples
    --------
    >>> from sk_equivae import EquiVAEClassifier, Objective
    >>> EquiVAEClassifier(objective=Objective(label_weight=10.0))
    EquiVAEClassifier(objective=Objective(label_weight=10.0))
    >>> clf = EquiVAEClassifier().set_params(objective__confidence=0.95)
    >>> clf.objective
    Objective(confidence=0.95)
    """

    _named_settings: ClassVar = {
        "alignment": {"auto": Alignment},
        "graph": {"auto": Graph},
        "discriminant": {"auto": Discriminant},
        "experts": {"auto": Experts},
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "labeled_share": [StrOptions({"auto"}), _FRACTION],
        "label_weight": [_NOT_NEGATIVE],
        "class_threshold": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
        "max_classes": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "kl_weight": [_NOT_NEGATIVE],
        "kl_warmup": [StrOptions({"auto"}), _FRACTION],
        "consistency_weight": [_NOT_NEGATIVE],
        "prototype_weight": [StrOptions({"auto"}), _NOT_NEGATIVE],
        "linear_weight": [_NOT_NEGATIVE],
        "teacher_decay": [Interval(Real, 0, 1, closed="left")],
        "confidence": [_FRACTION],
        "complement_pool": [StrOptions({"labeled", "confident"})],
        "min_complements": [
            StrOptions({"auto", "m_max"}),
            Interval(Integral, 0, None, closed="left"),
        ],
        "alignment": [None, StrOptions({"auto"}), Source],
        "graph": [None, StrOptions({"auto"}), Source],
        "discriminant": [None, StrOptions({"auto"}), Source],
        "experts": [None, StrOptions({"auto"}), Source],
        "hidden_fraction": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="both")],
        "labeled_fraction": [_FRACTION],
        "labeled_warmup": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "max_batch_size": [None, StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "lr_warmup": [StrOptions({"auto"}), _FRACTION],
        "lr_decay": [None, StrOptions({"cosine"})],
        "gradient_clip": [None, Interval(Real, 0, None, closed="neither")],
        "calibrate": ["boolean"],
    }

    def __init__(
        self,
        *,
        labeled_share: Any = "auto",
        label_weight: float = 1.0,
        class_threshold: Any = "auto",
        max_classes: Any = "auto",
        kl_weight: float = 1.0,
        kl_warmup: Any = "auto",
        consistency_weight: float = 1.0,
        prototype_weight: Any = "auto",
        linear_weight: float = 3.0,
        teacher_decay: float = 0.99,
        confidence: float = 0.8,
        complement_pool: str = "confident",
        min_complements: Any = "auto",
        alignment: Any = "auto",
        graph: Any = "auto",
        discriminant: Any = "auto",
        experts: Any = "auto",
        hidden_fraction: Any = "auto",
        labeled_fraction: float = 1 / 3,
        labeled_warmup: Any = "auto",
        max_batch_size: Any = "auto",
        lr_warmup: Any = "auto",
        lr_decay: str | None = "cosine",
        gradient_clip: float | None = None,
        calibrate: bool = True,
    ):
        self.labeled_share = labeled_share
        self.label_weight = label_weight
        self.class_threshold = class_threshold
        self.max_classes = max_classes
        self.kl_weight = kl_weight
        self.kl_warmup = kl_warmup
        self.consistency_weight = consistency_weight
        self.prototype_weight = prototype_weight
        self.linear_weight = linear_weight
        self.teacher_decay = teacher_decay
        self.confidence = confidence
        self.complement_pool = complement_pool
        self.min_complements = min_complements
        self.alignment = alignment
        self.graph = graph
        self.discriminant = discriminant
        self.experts = experts
        self.hidden_fraction = hidden_fraction
        self.labeled_fraction = labeled_fraction
        self.labeled_warmup = labeled_warmup
        self.max_batch_size = max_batch_size
        self.lr_warmup = lr_warmup
        self.lr_decay = lr_decay
        self.gradient_clip = gradient_clip
        self.calibrate = calibrate

    def sources(self) -> list[Source]:
        """Return the sources of class probabilities for unlabelled rows.

        Returns
        -------
        sources : list of Source
            The sources, in the order in which they are applied; empty if `teacher_decay` is 0.
        """
        if self.teacher_decay == 0:
            return []
        names = ("alignment", "graph", "discriminant", "experts")
        given = (self._resolved(name) for name in names)
        return [Teacher(), *(source for source in given if source is not None)]


def paper_objective() -> Objective:
    """Return the objective of the paper: Eq. 7 plus log q(y|x) of labelled rows.

    It departs from the paper in `label_weight` and `labeled_warmup`. The paper adds log q(y|x) of
    every labelled row to the bound, which is a weight of n_labeled / n_rows here: 0.0018 for 100 of
    55,000 rows. Then q(y|x) follows the bound on unlabelled rows into wrong classes. M2 (Kingma et
    al., 2014) has 0.1 on this scale.

    What the paper leaves open: every row has the same weight in the bound, as Eq. 7 is written;
    half of a batch is labelled; a batch has at most 512 rows. If there are unlabelled rows, the
    first 200 batches have labelled rows alone.
    """
    return Objective(
        labeled_share="auto",
        label_weight=25.0,
        class_threshold=0.0,
        kl_warmup=0.0,
        consistency_weight=0.0,
        prototype_weight=0.0,
        teacher_decay=0.0,
        complement_pool="labeled",
        min_complements="m_max",
        labeled_fraction=0.5,
        hidden_fraction=0.0,
        labeled_warmup=200,
        alignment=None,
        graph=None,
        discriminant=None,
        experts=None,
        max_batch_size=512,
        lr_warmup=0.0,
        lr_decay=None,
        calibrate=False,
    )


OBJECTIVES = {"auto": Objective, "paper": paper_objective}
