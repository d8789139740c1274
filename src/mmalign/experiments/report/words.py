"""The paper's terms, defined where a report uses them."""

PAIR_WORDS = (
    "In a pair, every clip has the first modality (visible) and may lack the second (victim). "
    "Survival: the share of training clips that keep the victim. Setting A: the victim is missing "
    "in all clips of valid and test; setting B: at the same rate as in training. LB, the lower "
    "bound: the same network on the visible modality alone, trained on all labelled clips. UB, the "
    "upper bound: both modalities are always there. Floors know nothing of the victim: zero-fill "
    "puts zeros in its place, and the constant always predicts the training majority or mean."
)
