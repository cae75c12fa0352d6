"""The shipped calibrations: there is one for each way a wheel can rank by vectors, and they are sane."""

import pytest

from pegboard.retrieval.calibration import Calibration
from pegboard.retrieval.features import FEATURES
from pegboard.retrieval.shipped import SHIPPED


@pytest.mark.parametrize("channels", [("static",), ("encoder", "static")])
def test_each_set_of_channels_has_a_calibration(channels):
    found = SHIPPED[channels]
    assert found.channels == channels
    assert Calibration.from_json(found.to_json()) == found
    assert 0 < found.fits.threshold < 0.5


@pytest.mark.parametrize("channels", list(SHIPPED))
def test_what_is_more_alike_fits_more_surely(channels):
    found, names = SHIPPED[channels].fits, [name for name, _ in FEATURES]
    alike = [0.6 if name.endswith(("_first", "_most")) else 0.0 for name in names]
    unlike = [0.05 if name.endswith(("_first", "_most")) else 0.0 for name in names]
    assert found.probability(alike) > found.probability(unlike)


def test_a_channel_that_is_not_there_has_no_weight():
    weights = dict(zip((name for name, _ in FEATURES), SHIPPED[("static",)].fits.weights, strict=True))
    assert all(weight == 0 for name, weight in weights.items() if name.startswith("encoder_"))
