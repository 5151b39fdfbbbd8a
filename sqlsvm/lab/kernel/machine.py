"""The options of a kernel machine."""

from dataclasses import dataclass

from sqlsvm.errors import OptionError
from sqlsvm.lab.kernel.gram import Cache
from sqlsvm.options import DEFAULTS, CacheKind, CacheShare, KernelName, check


@dataclass(frozen=True)
class Machine:
    """What is asked of it."""

    kernel: KernelName | None = DEFAULTS["kernel"]
    gamma: float | None = DEFAULTS["gamma"]
    cache: CacheKind = DEFAULTS["cache"]
    cache_mb: float = DEFAULTS["cache_mb"]
    cache_share: CacheShare = DEFAULTS["cache_share"]

    def __post_init__(self) -> None:
        check(self)
        if self.gamma is not None and self.kernel == "linear":
            raise OptionError("the linear kernel has no gamma", hint="leave out --gamma, or use --kernel rbf")

    @property
    def memory(self) -> Cache:
        return Cache(self.cache, int(self.cache_mb * (1 << 20)), self.cache_share)
