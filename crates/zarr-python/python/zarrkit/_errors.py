"""The exceptions of zarrkit. Each is one of Python's own, too."""

import errno
import os
import re
import sys
import warnings


class ZarrError(Exception):
    """Something went wrong. `str()` has the whole text: what, where, and what to do.

    `kind` is a word for programs, such as `"not_found"`; `message` says what went wrong, `store`, `path`, `key` and `chunk` say
    where, and `hint` what to do; each may be None.
    """

    kind: str = "store"
    message: str | None = None
    store: str | None = None
    path: str | None = None
    key: str | None = None
    chunk: tuple[int, ...] | None = None
    hint: str | None = None
    hint_id: str | None = None

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self):
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(cls, args, attributes):
    error = cls(*args)
    error.__dict__.update(attributes)
    return error


class ArgumentError(ZarrError, ValueError):
    """The request is invalid."""

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
    errno = errno.EACCES


class ExistsError(ZarrError, FileExistsError):
    """Something already exists there."""

    kind = "exists"
    errno = errno.EEXIST


class NotFoundError(ZarrError, FileNotFoundError):
    """Nothing was found there."""

    kind = "not_found"
    errno = errno.ENOENT


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
    """The store failed. `errno` is the system's number, if its call failed: `errno.ENOSPC` for a full disk."""

    kind = "store"
    errno: int | None = None


class PermissionDeniedError(StoreError, PermissionError):
    """The system, or a server, does not permit it."""

    errno = errno.EACCES


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


_HERE = os.path.dirname(__file__) + os.sep


def warn(texts):
    """Warns of what a tolerant reader has overlooked, at the line that called zarrkit."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    for text in texts:
        warnings.warn(in_words_of_python(text), ZarrWarning, stacklevel=level)


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


# What to do, for the hints that the library names.
_HINTS = {
    "read_write": 'open it with mode="r+"',
    "overwrite": "erase it first, or give overwrite=True",
    "chunks_without_array": "restore the document of the array, move the files away, or choose another path; overwrite=True erases them first",
    "decoded_limit": 'give zarrkit.open limits={"decoded": BYTES} if you trust this data',
    "locking": 'this file system does not support locks; if no other process writes here, give storage_options={"locking": "false"}',
    "guard": "the store cannot compare and swap; write to one that can, such as a folder or a bucket",
    "missing_chunk": 'copy the array again from its source, or read with missing="fill" to take the fill value for chunks that are not stored',
    "resume_copy": "go on with zarrkit.copy(..., resume=True)",
    "copy_first": "copy it with zarrkit.copy, and write to the copy",
}

_FLAGS = ("resume", "overwrite", "strict", "orphans", "expect-complete", "skip-unsupported", "apply", "finish")
_FUNCTIONS = {
    "copy": "zarrkit.copy",
    "validate": "zarrkit.validate",
    "repair": "zarrkit.repair",
    "checksum": "zarrkit.checksum",
    "diff": "zarrkit.diff",
    "consolidate": "Group.consolidate",
    "rm": "del group[name]",
    "tree": "Group.tree",
    "info": "Array.info",
}


def _option(match):
    name = match[1]
    if name in _FLAGS:
        return f"{name.replace('-', '_')}=True"
    name = {"codec": "codecs", "dims": "dims"}.get(name, name.replace("-", "_"))
    value = match[2]
    return f'{name}="{value}"' if value else f"{name}="


def _call(match):
    name = _FUNCTIONS.get(match[1])
    if name is None:
        return f"the program's `zarrkit {match[1]}`"
    return f"`{name}(..., resume=True)`" if "--resume" in match[2] else f"`{name}`"


# What the library and the program say, and what Python says. They follow each other.
_WORDS = [
    (re.compile(r"set it with `shape`, as in `\.shape\(\[([^`]*)\]\)`"), r"give it as in `shape=(\1)`"),
    (re.compile(r"set it with `data_type`, as in `[^`]*`"), 'give it as in `dtype="float32"`'),
    (re.compile(r" \(library: `[^`]*`\)"), ""),
    (re.compile(r"; enable the feature `[^`]*` of `[^`]*`"), " of zarrkit"),
    (re.compile(r"enable the feature `[^`]*` of `[^`]*`"), "use a build of zarrkit that has it"),
    (re.compile(r"raise `Limits::(\w+)`"), r'give zarrkit.open limits={"\1": BYTES}'),
    (re.compile(r"; open the file with another `LmdbStore::map_size`, or raise"), "; raise"),
    (re.compile(r"; if no other program writes here, turn the guard off \(`--guard off`\)"), ""),
    (re.compile(r"set `keep_cut_off` to leave them"), "use a store that can list"),
    (re.compile(r"with `--decode-times`"), "with the program (zarrkit refs, option decode-times)"),
    (re.compile(r"`zarr (\w+)((?: [^`]*)?)`"), _call),
    (re.compile(r"`--(chunks|shards) ([^`:=]+):([^`:=]+)=(-?\d+)`"), r'\1={"\2": {"\3": \4}}'),
    (re.compile(r"`--([a-z][a-z-]+)(?:[= ]([^`]+))?`"), _option),
    (re.compile(r"(?<![\w-])--([a-z][a-z-]+)()"), _option),
    (re.compile(r"`(\w+)\((true|false)\)`"), lambda match: f"{match[1]}={match[2].capitalize()}"),
]


def in_words_of_python(text):
    """A message of the library, with the names that things have in Python."""
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text


def exception(kind, message, details, is_lookup=False):
    """The exception for an error of the library; `is_lookup` says that a member of a group was looked up."""
    message = in_words_of_python(message)
    hint = _HINTS.get(details["hint_id"]) or (details["hint"] and in_words_of_python(details["hint"]))
    cls = _BY_KIND.get(kind, StoreError)
    if is_lookup and cls is NotFoundError:
        cls = MemberNotFoundError
    number = details.pop("errno")
    if cls is StoreError:
        details["errno"] = number
        if number in (errno.EACCES, errno.EPERM):
            cls = PermissionDeniedError
    error = cls(f"{message}; {hint}" if hint else message)
    chunk = details["chunk"]
    error.__dict__.update(details, message=message, hint=hint, chunk=None if chunk is None else tuple(chunk))
    return error
