"""Reads and writes Zarr arrays of every dialect: v2, v3, the v3 drafts, NCZarr."""

import os as _os
import threading as _threading
from typing import TYPE_CHECKING

from ._answers import answer_of_module as _answer_of_module
from ._answers import install as _install_answers
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
    PermissionDeniedError,
    ReadOnlyError,
    StoreError,
    UnalignedWriteError,
    UnsupportedError,
    ZarrError,
    ZarrWarning,
)
from ._fallbacks import fallbacks, strict_pipeline
from ._nodes import Member, create, create_array, full, ones, open_array, open_consolidated, open_group, zeros
from ._tree_progress import TreeProgress
from ._zarr_words import with_answers as _with_answers
from ._zarrkit import Array, Group, Plan, Progress, Region, __version__, create_group, open

if not TYPE_CHECKING:
    # For checkers of types, the kinds of nodes that it returns would get lost.
    open = _with_answers(open)

if TYPE_CHECKING:
    # Written so, they are the package's own for checkers of types, though not in `__all__`: `import *` needs no other package.
    from ._pipeline import CodecPipeline as CodecPipeline
    from ._pipeline import Pipeline as Pipeline
    from ._store import Store as Store
    from ._tools import (
        Checksum,
        CopyReport,
        Diff,
        Problem,
        PyramidLevel,
        PyramidReport,
        References,
        RepairReport,
        SyncReport,
        ValidationReport,
        checksum,
        copy,
        diff,
        plan_copy,
        pyramid,
        refs,
        repair,
        sync,
        validate,
    )
    from ._xarray import XarrayEngine as XarrayEngine

__all__ = [
    "ArgumentError",
    "Array",
    "CancelledError",
    "Checksum",
    "ConflictError",
    "CopyReport",
    "CorruptDataError",
    "Diff",
    "ExistsError",
    "Group",
    "InvalidMetadataError",
    "LimitError",
    "Member",
    "MemberNotFoundError",
    "NotCapableError",
    "NotFoundError",
    "OutOfBoundsError",
    "PermissionDeniedError",
    "Plan",
    "Problem",
    "Progress",
    "PyramidLevel",
    "PyramidReport",
    "ReadOnlyError",
    "References",
    "Region",
    "RepairReport",
    "StoreError",
    "SyncReport",
    "TreeProgress",
    "UnalignedWriteError",
    "UnsupportedError",
    "ValidationReport",
    "ZarrError",
    "ZarrWarning",
    "__version__",
    "checksum",
    "copy",
    "create",
    "create_array",
    "create_group",
    "diff",
    "fallbacks",
    "full",
    "ones",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "plan_copy",
    "pyramid",
    "refs",
    "repair",
    "strict_pipeline",
    "sync",
    "validate",
    "zeros",
]

#: What copies, validates and compares: in a module whose import takes a while.
_TOOLS = (
    "Checksum",
    "CopyReport",
    "Diff",
    "Problem",
    "PyramidLevel",
    "PyramidReport",
    "References",
    "RepairReport",
    "SyncReport",
    "ValidationReport",
    "checksum",
    "copy",
    "diff",
    "plan_copy",
    "pyramid",
    "refs",
    "repair",
    "sync",
    "validate",
)

#: What needs a package beyond NumPy, or asyncio, which is imported when this is first asked for: the module of a name, or a module itself.
_LAZY = {
    "aio": ".aio",
    "CodecPipeline": "._pipeline",
    "Pipeline": "._pipeline",
    "Store": "._store",
    "XarrayEngine": "._xarray",
    "dask": ".dask",
    **dict.fromkeys(_TOOLS, "._tools"),
}


# Python's lock of a module that another thread was importing at a fork stays locked in the child for ever, so a fork waits for
# the import. This is registered after the hooks of the compiled module, and is therefore called before them.
_importing = _threading.RLock()
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release)


_install_answers()


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_answer_of_module(name)}")
    from importlib import import_module

    with _importing:
        module = import_module(_LAZY[name], __name__)
    value = globals()[name] = module if _LAZY[name] == f".{name}" else getattr(module, name)
    return value


def __dir__():
    # With what was not asked for yet.
    return sorted({*globals(), *_LAZY})
