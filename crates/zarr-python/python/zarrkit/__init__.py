"""Reads and writes Zarr arrays of every dialect: v2, v3, the v3 drafts, NCZarr."""

from ._errors import (
    ArgumentError,
    CancelledError,
    ConflictError,
    CorruptDataError,
    ExistsError,
    InvalidMetadataError,
    LimitError,
    MemberNotFoundError,
    NotCapableError,
    NotFoundError,
    OutOfBoundsError,
    ReadOnlyError,
    StoreError,
    UnalignedWriteError,
    UnsupportedError,
    ZarrError,
    ZarrWarning,
)
from ._fallbacks import fallbacks, strict_pipeline
from ._zarrkit import Array, Group, Region, __version__, create_array, create_group, open

__all__ = [
    "Array",
    "ArgumentError",
    "CancelledError",
    "CodecPipeline",
    "ConflictError",
    "CorruptDataError",
    "ExistsError",
    "Group",
    "InvalidMetadataError",
    "LimitError",
    "MemberNotFoundError",
    "NotCapableError",
    "NotFoundError",
    "OutOfBoundsError",
    "Pipeline",
    "ReadOnlyError",
    "Region",
    "Store",
    "StoreError",
    "UnalignedWriteError",
    "UnsupportedError",
    "ZarrError",
    "ZarrWarning",
    "__version__",
    "create_array",
    "create_group",
    "fallbacks",
    "open",
    "strict_pipeline",
]

#: What needs another package, which is imported when this is first asked for: the module of a name, or a module itself.
_LAZY = {"CodecPipeline": "._pipeline", "Pipeline": "._pipeline", "Store": "._store", "dask": ".dask"}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_LAZY[name], __name__)
    value = globals()[name] = module if _LAZY[name] == f".{name}" else getattr(module, name)
    return value
