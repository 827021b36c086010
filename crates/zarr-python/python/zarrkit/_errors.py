"""The exceptions of zarrkit. Each is one of Python's own, too."""


class ZarrError(Exception):
    """Something went wrong. `str()` has the whole text: what, where, and what to do.

    `kind` is a word for programs, such as `"not_found"`; `message` says what went wrong, `store`, `path`, `key` and `chunk` say
    where, and `hint` what to do; each may be None.
    """

    kind = "store"
    message = store = path = key = chunk = hint = hint_id = None

    def __str__(self):
        return str(self.args[0]) if self.args else ""

    def __reduce__(self):
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(cls, args, attributes):
    error = cls(*args)
    error.__dict__.update(attributes)
    return error


class ArgumentError(ZarrError, ValueError):
    """The caller asked for something that cannot be."""

    kind = "argument"


class OutOfBoundsError(ArgumentError, IndexError):
    """A selection leaves the array."""


class UnalignedWriteError(ArgumentError):
    """Several tasks would write parts of the same stored object."""


class NotCapableError(ZarrError, NotImplementedError):
    """The store lacks a capability."""

    kind = "not_capable"


class ReadOnlyError(ZarrError, PermissionError):
    """What was opened for reading cannot be written."""

    kind = "read_only"


class ExistsError(ZarrError, FileExistsError):
    """Something is there already."""

    kind = "exists"


class NotFoundError(ZarrError, FileNotFoundError):
    """Nothing is there."""

    kind = "not_found"


class MemberNotFoundError(NotFoundError, KeyError):
    """A group has no such member."""


class UnsupportedError(ZarrError, NotImplementedError):
    """Valid Zarr that this build does not know."""

    kind = "unsupported"


class InvalidMetadataError(ZarrError, ValueError):
    """A document breaks its specification."""

    kind = "invalid_metadata"


class CorruptDataError(ZarrError, OSError):
    """Stored bytes do not decode."""

    kind = "corrupt_data"


class StoreError(ZarrError, OSError):
    """The store failed."""

    kind = "store"


class LimitError(ZarrError, MemoryError):
    """A limit was reached."""

    kind = "limit"


class ConflictError(ZarrError, OSError):
    """Another writer was faster, again and again."""

    kind = "conflict"


class CancelledError(ZarrError, OSError):
    """The call was cancelled."""

    kind = "cancelled"


class ZarrWarning(UserWarning):
    """What a tolerant reader has overlooked in a document."""


_BY_KIND = {
    cls.kind: cls
    for cls in (
        ArgumentError,
        NotCapableError,
        ReadOnlyError,
        ExistsError,
        NotFoundError,
        UnsupportedError,
        InvalidMetadataError,
        CorruptDataError,
        StoreError,
        LimitError,
        ConflictError,
        CancelledError,
    )
}


def exception(kind, text, message, details):
    """The exception for an error of the library."""
    error = _BY_KIND.get(kind, StoreError)(text)
    error.message = message
    error.__dict__.update(details)
    return error
