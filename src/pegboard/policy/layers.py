"""Make the second layer of policies as they were written, or check them. Cedar's engine is optional and loaded late."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pegboard.core.catalog import CatalogEntry
from pegboard.core.errors import ConfigError
from pegboard.core.layer import Layer

if TYPE_CHECKING:
    from pegboard.policy.cedar_check import CheckReport

__all__ = ["check_policies", "layer_of"]


def layer_of(texts: Mapping[str, str]) -> Layer | None:
    """Return the layer that these policy files make, by file name; None where there is no file.

    Raises:
        ConfigError: A policy cannot be read or breaks a rule, or Cedar's engine is not installed.
    """
    if not texts:
        return None
    with _engine(texts):
        from pegboard.policy.cedar import Cedar
    return Cedar.of(texts)


def check_policies(texts: Mapping[str, str], tools: Iterable[CatalogEntry]) -> "CheckReport":
    """Check the policies of these files, against the tools of a catalog too.

    Raises:
        ConfigError: Cedar's engine is not installed.
    """
    with _engine(texts):
        from pegboard.policy.cedar_check import check
    return check(texts, tools)


@contextmanager
def _engine(texts: Iterable[str]) -> Iterator[None]:
    """Load what needs Cedar's engine, which is an extra and takes 0.1 s to load."""
    try:
        yield
    except ImportError:
        fix = "pip install 'pegboard[cedar]'"
        raise ConfigError("Cedar's engine is not installed", ", ".join(texts), fix) from None
