"""The attributes of a node as a mutable mapping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any


class Attributes(MutableMapping[str, Any]):
    """The attributes of an array or a group. Each change is written at once, and changes nothing else: two writers that set different
    attributes at the same time lose none.

    What is read are the attributes when the node was opened, or last changed through it; `node.refresh()` reads them again. Values are
    copies: to change a list, set it again. `NaN` and the infinities keep their form, integers of any size their digits.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Any) -> None:
        self._node = node

    def asdict(self) -> dict[str, Any]:
        """The attributes as a `dict`, a copy."""
        attributes: dict[str, Any] = self._node._attributes()
        return attributes

    def __getitem__(self, name: str) -> Any:
        return self.asdict()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.asdict())

    def __len__(self) -> int:
        return len(self.asdict())

    def __contains__(self, name: object) -> bool:
        return name in self.asdict()

    def __setitem__(self, name: str, value: Any) -> None:
        self._node._update_attributes({name: value})

    def __delitem__(self, name: str) -> None:
        if missing := self._node._update_attributes({}, [name]):
            raise KeyError(*missing)

    def update(self, other: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), /, **named: Any) -> None:  # type: ignore[override]
        """Sets several attributes by one write."""
        if changes := dict(other, **named):
            self._node._update_attributes(changes)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Sets an attribute that is not there, also if another writer does so at the same time; returns its value."""
        self._node._update_attributes({name: default}, only_absent=True)
        return self[name]

    def replace(self, other: Mapping[str, Any] = {}, /) -> None:
        """Sets these attributes, and removes all others, by one write."""
        self._node._update_attributes(dict(other), replace=True)

    def clear(self) -> None:
        """Removes all attributes by one write."""
        self.replace()

    def __repr__(self) -> str:
        return f"Attributes({self.asdict()!r})"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)
