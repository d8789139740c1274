"""What scikit-learn asks of an estimator; it is imported only by those that use it."""

from typing import Any

from mmalign.data.task import Classification, Task


def sklearn_tags(task: Task | None) -> Any:
    """Tags of an estimator whose X are clips; its kind is known once it is fitted."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

    kind = None if task is None else _kind(task)
    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=False),
        classifier_tags=ClassifierTags() if kind == "classifier" else None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
        input_tags=InputTags(two_d_array=False, allow_nan=True),
        non_deterministic=False,
    )


def _kind(task: Task) -> str:
    return "classifier" if isinstance(task, Classification) else "regressor"
