"""Opens what a pickle names. In one process, handles of the same place share a hierarchy, with its connections and caches."""

from collections import OrderedDict
from collections.abc import Mapping

from ._zarrkit import Root

#: As many hierarchies, and as many handles, are kept; the one that was not used for longest is forgotten.
_MOST = 256
_roots = OrderedDict()
_handles = OrderedDict()


def load(place, path, writeable, options, threads, version, reading):
    """The array or group of a pickle. `version` is the document that the process knew which made the pickle: if this process has a
    handle of that document, nothing is read."""
    if not isinstance(place, str):
        return Root(place, writeable, list(options), threads, reading).node(path)
    where = (place, writeable, options, threads, reading)
    handle = _used(_handles, (where, path, version))
    if handle is None:
        handle = _open(where, path, version)
        _keep(_handles, (where, path, version), handle)
    return handle


def _open(where, path, version):
    root = _used(_roots, where)
    if root is not None:
        try:
            handle = root.node(path)
        except Exception:
            handle = None
        # The copies of documents that it keeps may be older than the pickle.
        if handle is not None and handle._version == version:
            return handle
    place, writeable, options, threads, reading = where
    root = Root(place, writeable, list(options), threads, reading)
    _keep(_roots, where, root)
    return root.node(path)


def _used(kept, key):
    value = kept.get(key)
    if value is not None:
        try:
            kept.move_to_end(key)
        except KeyError:
            pass  # Another thread has just forgotten it.
    return value


def _keep(kept, key, value):
    kept[key] = value
    while len(kept) > _MOST:
        kept.popitem(last=False)


def checked(store):
    """A store of Python's that a pickle may hold: in another process it must be the same store, not a copy of its values."""
    if isinstance(store, Mapping) and type(store).__module__.split(".")[0] != "fsspec" or "Memory" in type(store).__name__:
        raise TypeError(
            f"a handle in a store of type {type(store).__name__!r} cannot be pickled: its values are in the memory of this process; "
            "keep them in a folder, an archive or a bucket"
        )
    return store
