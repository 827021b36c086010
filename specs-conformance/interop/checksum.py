"""The checksum of docs/checksum.md over zarr-python 3, or 2 for drafts (ZARR_V3_EXPERIMENTAL_API=1): `checksum.py STORE [draft]` prints `HEX  PATH`.
Left out: NCZarr's own types, JSON, lists, nullable elements, types of third parties and those that NumPy does not have."""
import base64, hashlib, json, sys, numpy as np, zarr
USUAL = {"int8": -127, "int16": -32767, "int32": 1 - 2**31, "int64": 2 - 2**63, "uint8": 255, "uint16": 65535, "uint32": 2**32 - 1, "uint64": 2**64 - 2}
def sha(*parts): return hashlib.sha256(b"".join(parts)).digest()
def by_value(digits):  # a number of JSON: an integer of 64 bits, a double, or a word
    exact = int(digits) if digits.strip("-").isdigit() else int(float(digits)) if float(digits).is_integer() else 2**64
    return exact if -(2**63) <= exact < 2**64 else float(digits) if np.isfinite(float(digits)) else "-Infinity" if digits[0] == "-" else "Infinity"
def canonical(x):
    by_values = json.loads(json.dumps(x), parse_int=by_value, parse_float=by_value, parse_constant=str)
    return json.dumps(by_values, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
def type_name(t):
    if t.names: return ["record", [[name, type_name(t[name].base), list(t[name].shape)] for name in t.names]]
    if t.kind in "Mm": return ["datetime64" if t.kind == "M" else "timedelta64", *np.datetime_data(t)]
    return {"S": ["bytes", t.itemsize], "U": ["utf32", t.itemsize // 4], "V": ["raw", t.itemsize]}.get(t.kind, t.name)
def encoded(x, t):  # a value that NumPy has, or the attribute `_FillValue`, where a string is base64 of bytes or xarray's of a double
    if t.kind == "c": return b"".join(encoded(part, np.dtype(f"f{t.itemsize // 2}")) for part in (x if isinstance(x, list) else (x.real, x.imag)))
    if t.kind in "OT": return x.encode() if isinstance(x, str) else bytes(() if x is None else x)
    if isinstance(x, str) and t.kind == "f" and len(x) == 12: x = np.frombuffer(base64.b64decode(x))[0]
    return np.array(np.nan if x != x else base64.b64decode(x) if isinstance(x, str) and t.kind == "S" else x).astype(t.newbyteorder("<")).tobytes()
def line_bytes(line):
    if line.dtype.kind not in "OT": return line.astype(line.dtype.newbyteorder("<")).tobytes()
    return b"".join(len(text).to_bytes(4, "little") + text for text in (encoded(x, line.dtype) for x in line))
def missing_value(t, names, fill, said):
    if not names or said is None or t.kind not in "iufcSUOT": return None
    found, filled = encoded(said, t), encoded(fill, t) if fill is not None else b""
    if not all(names) and found == (filled or bytes(len(found))): return None
    if t.kind in "SUOT": return found.rstrip(b"\0").hex() or None
    usual = np.float32(9.96921e36) if t.name in ("float32", "float64") else USUAL.get(t.name)  # what netCDF fills with
    return None if np.frombuffer(found, t.newbyteorder("<")).astype("f4" if t.kind == "f" else t)[0] == usual else found.hex()
def root(a, size):
    block = [1] * a.ndim
    while block[-1] < a.shape[-1] and block[-1] * 2 * size <= 1024: block[-1] *= 2
    while (longer := [i for i in range(a.ndim) if block[i] < a.shape[i]]) and np.prod(block) * size * 2 <= 2**20:
        block[min(longer, key=lambda i: (block[i], -i))] *= 2
    parts = (a[tuple(slice(i * b, i * b + b) for i, b in zip(at, block))] for at in np.ndindex(*(-(-n // b) for n, b in zip(a.shape, block))))
    level = [sha(b"zarr.block.1\n", *(sha(line_bytes(line)) for line in part.reshape(-1, part.shape[-1]))) for part in parts]
    while len(level := [sha(b"zarr.level.1\n", *level[i : i + 256]) for i in range(0, max(len(level), 1), 256)]) > 1: pass
    return level[0]
def array(node, attributes):
    data, meta, fill = np.asarray(node[...]), getattr(node, "metadata", node), node.fill_value
    t, names, said = data.dtype, getattr(meta, "dimension_names", None), attributes.pop("_FillValue", None)
    if meta is node and isinstance(attributes.get("filters"), list): del attributes["filters"]  # hidden there in drafts
    told = not names and isinstance(dims := attributes.get("_ARRAY_DIMENSIONS"), list) and [isinstance(n, (str, type(None))) for n in dims] == [True] * data.ndim
    names = names or told and attributes.pop("_ARRAY_DIMENSIONS") or [None] * data.ndim
    names = [None if name == f"_Anonymous_Dim_{n}" else name for name, n in zip(names, data.shape)]
    if all(names) and (told or getattr(meta, "zarr_format", 2) != 3) and fill is not None: said = fill
    kind = type_name(t) if t.kind not in "OT" else "string" if "UTF8" in f"{getattr(meta, 'data_type', '')}{getattr(meta, 'filters', '')}" else "bytes"
    header = {"attributes": attributes, "data_type": kind, "shape": data.shape}
    header |= {"dimension_names": names if set(names) - {None} else None, "missing_value": missing_value(t, names, fill, said)}
    return sha(b"zarr.array.1\n", canonical(header), b"\n", root(np.atleast_1d(data), 64 if t.kind in "OT" else t.itemsize))
def checksum(node, path, found):  # adds the checksums of the node and of those below to `found`, by path
    attributes = {n: v for n, v in node.attrs.asdict().items() if n != "_NCProperties" and not n.startswith(("_nczarr", "_NCZARR"))}
    children = [] if hasattr(node, "shape") else node.members() if hasattr(node, "members") else node.items()
    group = {"attributes": attributes, "members": {name: checksum(child, f"{path}/{name}", found) for name, child in children}}
    digest = array(node, attributes) if hasattr(node, "shape") else sha(b"zarr.group.1\n", canonical(group))
    return found.setdefault(path or "/", digest.hex())
if __name__ == "__main__":
    checksum(zarr.open(sys.argv[1], mode="r", **({"zarr_version": 3} if sys.argv[2:] else {})), "", found := {})
    print(*(f"{digest}  {path}" for path, digest in sorted(found.items())), sep="\n")
