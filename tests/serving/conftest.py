"""One model of each kind, trained once, and a service for it."""

import pytest

from mmalign import MMAlign
from mmalign.data import TwinConfig, synthetic_twin
from mmalign.data.joint_twin import JointTwinConfig, joint_twin
from tests.experts.made import made_dataset
from tests.serving.served import make_service, serving

SMALL = {"epochs": 1, "dim": 8, "heads": 2}


@pytest.fixture(scope="session")
def experts_data():
    return made_dataset()


@pytest.fixture(scope="session")
def experts(experts_data, tmp_path_factory):
    """The folder of a saved model of experts."""
    folder = tmp_path_factory.mktemp("served") / "experts"
    MMAlign(epochs=1).fit(experts_data["train"]).save(folder)
    return folder


@pytest.fixture(scope="session")
def network_data():
    return joint_twin(JointTwinConfig(clips=(24, 8, 8)))


@pytest.fixture(scope="session")
def network(network_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "network"
    MMAlign(method="mmalign", warm_up=0, **SMALL).fit(network_data).save(folder)
    return folder


@pytest.fixture(scope="session")
def pair_data():
    return synthetic_twin(TwinConfig(clips=(24, 8, 8))).dataset


@pytest.fixture(scope="session")
def pair(pair_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "pair"
    model = MMAlign("visible", "victim", window=4, warm_up=0, **SMALL)
    model.fit(pair_data["train"], valid=pair_data["valid"]).save(folder)
    return folder


@pytest.fixture(scope="session")
def service(experts, experts_data):
    import mmalign

    return make_service(mmalign.load(experts), experts, examples=experts_data, max_steps=60)


@pytest.fixture(scope="session")
def url(service):
    """A service of experts."""
    with serving(service) as found:
        yield found
