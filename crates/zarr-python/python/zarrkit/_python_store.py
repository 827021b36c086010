"""Stores of Python's behind the few blocking calls that the compiled module makes of them."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping, MutableMapping


def resolve(target):
    """The URL of the place that `target` names, if the library has a store for it, or the library's store that it is; otherwise
    an `Adapter`.

    Raises `TypeError` for what is neither path, URL nor store.
    """
    if isinstance(target, str | bytes | os.PathLike):
        return url_of(target)
    zarr_stores = sys.modules.get("zarr.abc.store")
    if zarr_stores is not None:
        if isinstance(target, zarr_stores.Store):
            return _place_of(target) or _with_journal(target, ZarrAdapter(target))
        if type(target).__name__ == "StorePath" and type(target).__module__.startswith("zarr."):
            return _below(target)
    if type(target).__module__.split(".")[0] == "obstore":
        return _place_of_obstore(target) or ObstoreAdapter(target)
    if isinstance(target, Mapping):
        return MappingAdapter(target)
    raise TypeError(
        f"cannot open {type(target).__name__!r}: give a path, a URL, a store of zarr-python or obstore, or a mapping to bytes"
    )


def url_of(target):
    """The text of a path or URL. Raises `TypeError` for what is none, `ValueError` for one that is not UTF-8."""
    if not isinstance(target, (str, bytes, os.PathLike)):
        raise TypeError(
            f'a path or URL is a str or a pathlib.Path, not {type(target).__name__}'
        )
    url = _expanded(os.fspath(target))
    if not isinstance(url, str):
        raise TypeError(f"cannot open {target!r}: a path or URL must be a str or a pathlib.Path, not bytes; convert it with os.fsdecode")
    try:
        url.encode()
    except UnicodeEncodeError:
        raise ValueError(f"cannot open {url!r}: the name is not UTF-8; rename it, or create a link to it") from None
    return url


def _expanded(path):
    """The path with the home folder that a `~` at its beginning stands for, as a shell has it: `./~` is a folder of that name."""
    if not isinstance(path, str) or not path.startswith("~"):
        return path
    expanded = os.path.expanduser(path)
    if expanded == path and path.split("/")[0] == "~":
        raise ValueError(f"cannot open {path!r}: this user has no home folder; a folder named `~` is `./~`")
    # A name such as `~backup.zarr` is that of no user.
    return expanded


def refuse_read_only(target):
    """Raises `ReadOnlyError` for a store of zarr-python's that was opened for reading."""
    zarr_stores = sys.modules.get("zarr.abc.store")
    if zarr_stores is None:
        return
    store = target if isinstance(target, zarr_stores.Store) else getattr(target, "store", None)
    if isinstance(store, zarr_stores.Store) and store.read_only:
        from ._errors import ReadOnlyError

        hint = "give one that was opened for writing"
        name = name_of(store)
        error = ReadOnlyError(f"store {name}: cannot write: the store is read-only; {hint}")
        error.message, error.store, error.hint = "cannot write: the store is read-only", name, hint
        raise error


def name_of(store):
    """The name of a store in messages, in one line."""
    return " ".join(str(store).split())


#: What Icechunk says of keys that are none of its own; Icechunk 1 in words only.
_REFUSALS = ("invalid-key", "bad-key-prefix")
_REFUSALS_IN_WORDS = ("invalid zarr key format", "bad key prefix")


def refuses_key(error):
    """Whether an exception says that a store cannot have such a key or prefix, as Icechunk's do, so that none is there."""
    if type(error).__name__ == "IcechunkError":
        return any(words in str(error) for words in _REFUSALS_IN_WORDS)
    return getattr(error, "kind", None) in _REFUSALS


def _place_of(store):
    """The path of a store of zarr-python's that is a folder, or the library's own store."""
    ours = sys.modules.get("zarrkit._store")
    if ours is not None and isinstance(store, ours.Store):
        return store._raw if store.read_only == store._is_raw_read_only else None
    storage = sys.modules["zarr.storage"]
    if type(store) is storage.LocalStore:
        return os.fspath(store.root)
    if type(store) is storage.ObjectStore:
        return _place_of_obstore(store.store)
    return None


def _place_of_obstore(store):
    if type(store).__name__ == "LocalStore" and store.prefix is not None:
        return os.fspath(store.prefix)
    return None


def _below(target):
    """What a `StorePath` of zarr-python's names."""
    below = target.path.strip("/")
    place = _place_of(target.store)
    if isinstance(place, str):
        return os.path.join(place, *below.split("/")) if below else place
    if place is not None and not below:
        return place
    adapter = ZarrAdapter(target.store)
    if below:
        adapter = PrefixAdapter(adapter, below + "/")
    return _with_journal(target.store, adapter)


def _with_journal(store, adapter):
    """The adapter of a store of zarr-python's, which takes the journal of a copy whatever keys the store has. Icechunk's has those of Zarr only."""
    is_icechunk = type(store).__module__.split(".")[0] == "icechunk"
    return JournalAdapter(adapter) if is_icechunk else adapter


class Adapter:
    """What the compiled module calls. Keys and prefixes are text as in the specification; values are `bytes`.

    Versions are `bytes`, too; a store that has none says None. `get` returns `(value, version)` and `head` `(size, version)`,
    or None if the key is absent. `read` returns the parts of a value, or None if it is no longer of that version. Only a store
    that `swaps` is asked to `swap`: to set a value if the version is still the one that was read, or, with None, if the key is
    absent.
    """

    name = "a store of Python's"
    writeable = False
    listable = True
    #: Whether `swap` compares and sets in one step.
    swaps = False
    #: Whether `head` and `read` do not read the whole value.
    ranges = False
    #: Whether calls may wait for a network: then many are begun at a time, by `submit`.
    remote = False

    def submit(self, name, arguments):
        """Begins the call `name`; returns a `concurrent.futures.Future`."""
        return _threads().submit(getattr(self, name), *arguments)

    def get(self, key):
        raise NotImplementedError

    def head(self, key):
        raise NotImplementedError

    def read(self, key, ranges, version):
        raise NotImplementedError

    def set(self, key, value):
        raise NotImplementedError

    def swap(self, key, value, version):
        raise NotImplementedError

    def delete(self, key):
        raise NotImplementedError

    def list_prefix(self, prefix):
        raise NotImplementedError

    def list_dir(self, prefix):
        """Names directly below `prefix`, in full; those of prefixes end in `/`. Names further below may be among them."""
        return self.list_prefix(prefix)

    def erase_prefix(self, prefix):
        for key in list(self.list_prefix(prefix)):
            self.delete(key)


class PrefixAdapter(Adapter):
    """The keys of another adapter that begin with a prefix."""

    def __init__(self, inner, prefix):
        self.inner, self.prefix = inner, prefix
        self.name = f"{inner.name}/{prefix[:-1]}"
        for name in ("writeable", "listable", "swaps", "ranges", "remote"):
            setattr(self, name, getattr(inner, name))

    def get(self, key):
        return self.inner.get(self.prefix + key)

    def head(self, key):
        return self.inner.head(self.prefix + key)

    def read(self, key, ranges, version):
        return self.inner.read(self.prefix + key, ranges, version)

    def set(self, key, value):
        self.inner.set(self.prefix + key, value)

    def swap(self, key, value, version):
        return self.inner.swap(self.prefix + key, value, version)

    def delete(self, key):
        self.inner.delete(self.prefix + key)

    def submit(self, name, arguments):
        if name.startswith("list"):
            return _threads().submit(getattr(self, name), *arguments)
        return self.inner.submit(name, (self.prefix + arguments[0], *arguments[1:]))

    def _strip(self, names):
        return [name[len(self.prefix) :] for name in names if name.startswith(self.prefix)]

    def list_prefix(self, prefix):
        return self._strip(self.inner.list_prefix(self.prefix + prefix))

    def list_dir(self, prefix):
        return self._strip(self.inner.list_dir(self.prefix + prefix))

    def erase_prefix(self, prefix):
        self.inner.erase_prefix(self.prefix + prefix)


class JournalAdapter(Adapter):
    """Another adapter, of an Icechunk session's store, which takes the keys of Zarr only, and chunks only of arrays that it has.

    So the journal of a copy is kept here. It is lost with this process, as all that the session has not committed is. And the documents, which
    a copy writes last, are written before the first chunk, too: nobody sees them before the session is committed.
    """

    PREFIX = ".zarr-copy/"

    def __init__(self, inner):
        self.inner, self.journal = inner, MappingAdapter({})
        for name in ("name", "writeable", "listable", "swaps", "ranges", "remote"):
            setattr(self, name, getattr(inner, name))

    def _of(self, key):
        return self.journal if key.startswith(self.PREFIX) else self.inner

    def submit(self, name, arguments):
        if arguments[0].startswith(self.PREFIX):
            return super().submit(name, arguments)
        return self.inner.submit(name, arguments)

    def get(self, key):
        return self._of(key).get(key)

    def head(self, key):
        if not key.startswith(self.PREFIX):
            return self.inner.head(key)
        found = self.journal.get(key)
        return found and (len(found[0]), None)

    def read(self, key, ranges, version):
        if not key.startswith(self.PREFIX):
            return self.inner.read(key, ranges, version)
        found = self.journal.get(key)
        return found and [found[0][start:end] for start, end in ranges]

    def set(self, key, value):
        self._of(key).set(key, value)
        *folder, name = key.rsplit("/", 1)
        if key.startswith(self.PREFIX) and name.startswith("cleared-"):
            plan, _ = self.journal.get(f"{folder[0]}/plan.json")
            for document in json.loads(plan)["documents"]:
                if "text" in document:
                    self.inner.set(document["key"], document["text"].encode())

    def swap(self, key, value, version):
        return self._of(key).swap(key, value, version)

    def delete(self, key):
        self._of(key).delete(key)

    def list_prefix(self, prefix):
        return self._of(prefix).list_prefix(prefix)

    def list_dir(self, prefix):
        return self._of(prefix).list_dir(prefix)

    def erase_prefix(self, prefix):
        self._of(prefix).erase_prefix(prefix)


class MappingAdapter(Adapter):
    """A mapping of keys to bytes: a `dict`, or a mapper of fsspec."""

    def __init__(self, mapping):
        self.mapping = mapping
        self.writeable = isinstance(mapping, MutableMapping)
        root = getattr(mapping, "root", None)
        # A mapper of fsspec.
        self.remote = hasattr(mapping, "fs")
        place = root if isinstance(root, str) else f"at {id(mapping):#x}"
        self.name = f"{type(mapping).__name__} {place}"

    def get(self, key):
        try:
            value = self.mapping[key]
        except KeyError:
            return None
        return _bytes_of(value, key), None

    def set(self, key, value):
        self.mapping[key] = value

    def delete(self, key):
        try:
            del self.mapping[key]
        except (KeyError, FileNotFoundError):
            pass

    def list_prefix(self, prefix):
        # A copy, since other threads may change the mapping.
        return [key for key in list(self.mapping) if isinstance(key, str) and key.startswith(prefix)]


def _bytes_of(value, key):
    if isinstance(value, bytes):
        return value
    try:
        return bytes(memoryview(value).cast("B"))
    except TypeError:
        raise TypeError(f"the value of {key!r} is {type(value).__name__}, not bytes") from None


class ObstoreAdapter(Adapter):
    """A store of obstore's. It compares and swaps, where its service does."""

    ranges = True

    def __init__(self, store):
        self.store = store
        self.name = repr(store).strip("<>")
        self.remote = type(store).__name__ != "MemoryStore"
        self.writeable = type(store).__name__ != "HTTPStore"
        self.swaps = self.writeable and type(store).__name__ != "LocalStore"

    @staticmethod
    def _version(meta):
        if meta["e_tag"] is None:
            return None
        return "\n".join((meta["e_tag"], meta["version"] or "")).encode()

    @staticmethod
    def _mode(version):
        e_tag, _, version = version.decode().partition("\n")
        return {"e_tag": e_tag, "version": version} if version else {"e_tag": e_tag}

    def get(self, key):
        try:
            found = self.store.get(key)
            return bytes(found.bytes()), self._version(found.meta)
        except FileNotFoundError:
            return None

    def head(self, key):
        try:
            meta = self.store.head(key)
        except FileNotFoundError:
            return None
        return meta["size"], self._version(meta)

    def read(self, key, ranges, version):
        from obstore.exceptions import PreconditionError

        try:
            if version is None:
                starts, ends = zip(*ranges, strict=True) if ranges else ((), ())
                return [bytes(part) for part in self.store.get_ranges(key, starts=starts, ends=ends)]
            options = {"if_match": self._mode(version)["e_tag"]}
            return [
                bytes(self.store.get(key, options={**options, "range": range}).bytes()) if range[0] < range[1] else b""
                for range in ranges
            ]
        except (FileNotFoundError, PreconditionError):
            return None

    def set(self, key, value):
        self.store.put(key, value)

    def swap(self, key, value, version):
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            self.store.put(key, value, mode="create" if version is None else self._mode(version))
            return True
        except (AlreadyExistsError, PreconditionError, FileNotFoundError):
            return False

    def delete(self, key):
        try:
            self.store.delete(key)
        except FileNotFoundError:
            pass

    def list_prefix(self, prefix):
        return [meta["path"] for page in self.store.list(prefix.rstrip("/") or None) for meta in page]

    def list_dir(self, prefix):
        found = self.store.list_with_delimiter(prefix.rstrip("/") or None)
        prefixes = [prefix.rstrip("/") + "/" for prefix in found["common_prefixes"]]
        return prefixes + [meta["path"] for meta in found["objects"]]


class ZarrAdapter(Adapter):
    """A store of zarr-python's. Async calls run in zarr-python's event loop, which asynchronous file systems need."""

    def __init__(self, store):
        from zarr import storage
        from zarr.core.buffer import default_buffer_prototype

        self.store = store
        # Coroutines of these stores never wait, and their parts cost as much as the whole.
        self.is_near = type(store) in (storage.MemoryStore, storage.ZipStore)
        self.ranges = not self.is_near
        self.name = name_of(store)
        self.writeable = store.supports_writes and not store.read_only
        self.listable = store.supports_listing
        self.prototype = default_buffer_prototype()
        try:
            from zarr.abc.store import _store_supports_sync_io

            self.is_sync = _store_supports_sync_io(store)
        except ImportError:  # zarr-python before 3.4
            self.is_sync = False
        self.remote = not (self.is_sync or self.is_near)

    def submit(self, name, arguments):
        return begin(getattr(self, f"async_{name}")(*arguments))

    def _value(self, coroutine):
        """The result of a call for one value."""
        return _at_once(coroutine) if self.is_near else run(coroutine)

    def get(self, key):
        if not self.is_sync:
            return self._value(self.async_get(key))
        value = self.store.get_sync(key, prototype=self.prototype)
        return None if value is None else (value.to_bytes(), None)

    async def async_get(self, key):
        try:
            value = await self.store.get(key, self.prototype)
        except Exception as error:
            if not refuses_key(error):
                raise
            return None
        return None if value is None else (value.to_bytes(), None)

    def head(self, key):
        return run(self.async_head(key))

    async def async_head(self, key):
        try:
            return await self.store.getsize(key), None
        except (FileNotFoundError, KeyError):
            return None
        except Exception as error:
            if not refuses_key(error):
                raise
            return None

    def read(self, key, ranges, version):
        if not self.is_sync:
            return run(self.async_read(key, ranges, version))
        wanted = self._requests(ranges)
        found = [one and self.store.get_sync(key, prototype=self.prototype, byte_range=one) for one in wanted]
        return self._parts(wanted, found)

    async def async_read(self, key, ranges, version):
        wanted = self._requests(ranges)
        found = iter(await asyncio.gather(*(self.store.get(key, self.prototype, one) for one in wanted if one)))
        return self._parts(wanted, [one and next(found) for one in wanted])

    @staticmethod
    def _requests(ranges):
        """One request for each range; None for an empty one, which stores may refuse."""
        from zarr.abc.store import RangeByteRequest

        return [RangeByteRequest(start, end) if start < end else None for start, end in ranges]

    @staticmethod
    def _parts(wanted, found):
        parts = [b"" if one is None else part and part.to_bytes() for one, part in zip(wanted, found, strict=True)]
        return None if None in parts else parts

    def set(self, key, value):
        if self.is_sync:
            self.store.set_sync(key, self.prototype.buffer.from_bytes(value))
        else:
            self._value(self.async_set(key, value))

    async def async_set(self, key, value):
        await self.store.set(key, self.prototype.buffer.from_bytes(value))

    def delete(self, key):
        if not self.is_sync:
            return self._value(self.async_delete(key))
        try:
            self.store.delete_sync(key)
        except (FileNotFoundError, KeyError):
            pass

    async def async_delete(self, key):
        try:
            await self.store.delete(key)
        except (FileNotFoundError, KeyError):
            pass
        except Exception as error:
            if not refuses_key(error):
                raise

    def list_prefix(self, prefix):
        return run(self.async_list_prefix(prefix))

    async def async_list_prefix(self, prefix):
        try:
            return [name async for name in self.store.list_prefix(prefix)]
        except Exception as error:
            if not refuses_key(error):
                raise
            return []

    def list_dir(self, prefix):
        return run(self.async_list_dir(prefix))

    async def async_list_dir(self, prefix):
        try:
            names = [prefix + name.rstrip("/") async for name in self.store.list_dir(prefix)]
        except Exception as error:
            if not refuses_key(error):
                raise
            return []
        # zarr-python's listing does not tell keys from prefixes.
        are_keys = await asyncio.gather(*(self._is_key(name) for name in names))
        return [name if is_key else name + "/" for name, is_key in zip(names, are_keys, strict=True)]

    async def _is_key(self, name):
        """Whether a name that was listed is a key; else it is a prefix."""
        try:
            return await self.store.exists(name)
        except Exception as error:
            if not isinstance(error, ValueError) and not refuses_key(error):
                raise
            return False

    def erase_prefix(self, prefix):
        run(self.async_erase_prefix(prefix))

    async def async_erase_prefix(self, prefix):
        try:
            await self.store.delete_dir(prefix.rstrip("/"))
        except Exception as error:
            if not refuses_key(error):
                raise


def _at_once(coroutine):
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("a store in memory has waited for the event loop")


#: How long the event loop of zarr-python may be silent, in seconds, before a call that waits for it gives up.
LOOP_TIMEOUT = 60


HINT = "call zarrkit from another thread, such as by asyncio.to_thread"


def begin(coroutine):
    """Begins a coroutine in zarr-python's event loop; returns a `concurrent.futures.Future`.

    Raises `RuntimeError` in the loop's own thread, which waits for zarrkit and so cannot run it.
    """
    from zarr.core import sync

    loop = sync._get_loop()
    if sync.iothread[0] is not None and sync.iothread[0].ident == threading.get_ident():
        coroutine.close()
        raise RuntimeError(f"zarrkit was called in the event loop of zarr-python, which the store needs; {HINT}")
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def run(coroutine):
    """The result of a coroutine in zarr-python's event loop. Raises `RuntimeError` as `begin`, and if the loop does not run."""
    future = begin(coroutine)
    while True:
        try:
            return future.result(LOOP_TIMEOUT)
        except TimeoutError:
            if future.done():
                raise
            try:
                begin(asyncio.sleep(0)).result(LOOP_TIMEOUT)
            except TimeoutError:
                future.cancel()
                raise RuntimeError(f"the event loop of zarr-python has not run for {LOOP_TIMEOUT} s; {HINT}") from None


_EXECUTORS = {}


def _threads():
    """The threads of this process that wait for blocking stores."""
    # One process after a fork has none of those of the other.
    executor = _EXECUTORS.get(os.getpid())
    if executor is None:
        from concurrent.futures import ThreadPoolExecutor

        executor = _EXECUTORS.setdefault(os.getpid(), ThreadPoolExecutor(32, thread_name_prefix="zarrkit-store"))
    return executor
