"""What the paper's words mean, said where a report uses them."""

PAIR_WORDS = (
    "Of a pair, the first modality is visible and always there; the second, the victim, may be "
    "missing. Survival: the share of training clips that keep the victim. Setting A: it is missing "
    "in all clips of valid and test; setting B: at the same rate as in training. LB, the lower "
    "bound: the same network on the visible modality alone, trained on all labelled clips. UB, the "
    "upper bound: both modalities are always there. Floors know nothing of the victim: zero-fill "
    "puts zeros in its place, and the constant always says the training majority or mean."
)
