"""The checksum that docs/checksum.md defines, over zarr-python 3, or 2 for the drafts: `checksum.py STORE [draft]` prints `HEX  PATH` lines.
Left out: NCZarr's own types, JSON, lists, nullable elements, types of third parties and those that NumPy does not have."""
import base64, hashlib, itertools, json, os, struct, sys
os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
import numpy as np, zarr

def sha(*parts): return hashlib.sha256(b"".join(parts)).digest()
def value(x):  # numbers by their value
    if isinstance(x, dict): return {name: value(item) for name, item in x.items()}
    if isinstance(x, (list, tuple)): return [value(item) for item in x]
    if isinstance(x, (bool, str, type(None))) or isinstance(x, int) and -(2**63) <= x < 2**64: return x
    if not np.isfinite(x := float(x)): return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    return int(x) if x.is_integer() and -(2**63) <= x < 2**64 else x
def canonical(x): return json.dumps(value(x), sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
def type_name(t):
    if t.names: return ["record", [[n, type_name(t[n].base), list(t[n].shape)] for n in t.names]]
    if t.kind in "Mm": return ["datetime64" if t.kind == "M" else "timedelta64", *np.datetime_data(t)]
    return [{"S": "bytes", "U": "utf32", "V": "raw"}[t.kind], t.itemsize // (4 if t.kind == "U" else 1)] if t.kind in "SUV" else t.name
def number(x, t):  # a missing value as an attribute has it: xarray's base64, a list of one, two parts, a number
    if isinstance(x, list): return number(x[0], t) if len(x) == 1 else complex(*(number(part, t) for part in x))
    if t.kind in "fc": return struct.unpack("<d", base64.b64decode(x))[0] if isinstance(x, str) and len(x) == 12 else float(x)
    return base64.b64decode(x) if t.kind == "S" else x
def missing_value(fill, t, names, masks_fill, attribute):
    if not names or t.kind not in "iufcSUOT": return None
    def raw(x):
        if t.kind in "OT": return b"" if x in (None, 0) else x.encode() if isinstance(x, str) else bytes(x)
        return np.array(x).astype(t.newbyteorder("<")).tobytes()
    found = None if attribute is None else raw(number(attribute, t))
    if all(names) and masks_fill and fill is not None: found = raw(fill)
    elif not all(names) and found == raw(0 if fill is None else fill): return None
    if found is None or t.kind not in "iufc": return found and found.rstrip(b"\0").hex() or None
    least, size = 1 if t.itemsize < 8 else 2, "f4" if t.kind == "f" else t
    usual = {"i": least - 2 ** (8 * t.itemsize - 1), "u": 2 ** (8 * t.itemsize) - least, "f": 9.96921e36}.get(t.kind)  # netCDF's
    if usual is not None and t.name != "float16" and np.frombuffer(found, t.newbyteorder("<")).astype(size)[0] == np.array(usual, size): return None
    parts = np.frombuffer(found, f"<f{t.itemsize // (1 + (t.kind == 'c'))}") if t.kind in "fc" else ()
    return (b"".join(np.array(np.nan if p != p else p, p.dtype).tobytes() for p in parts) or found).hex()
def root(a, encode, size):
    block, level = [1] * a.ndim, []
    while a.ndim and block[-1] < a.shape[-1] and block[-1] * 2 * size <= 1024: block[-1] *= 2
    while (longer := [i for i in range(a.ndim) if block[i] < a.shape[i]]) and np.prod(block) * size * 2 <= 2**20:
        block[min(longer, key=lambda i: (block[i], -i))] *= 2
    for corner in itertools.product(*(range(0, n, b) for n, b in zip(a.shape, block))):
        part = a[tuple(slice(c, c + b) for c, b in zip(corner, block))]
        level.append(sha(b"zarr.block.1\n", *(sha(encode(line)) for line in part.reshape(-1, part.shape[-1] if a.ndim else 1))))
    while True:
        level = [sha(b"zarr.level.1\n", *level[i : i + 256]) for i in range(0, max(len(level), 1), 256)]
        if len(level) == 1: return level[0]
def array(node, attributes):
    data, meta = np.asarray(node[...]), getattr(node, "metadata", node)
    names, kind, t = getattr(meta, "dimension_names", None), type_name(data.dtype), data.dtype
    is_text = t.kind == "T" or "UTF8" in repr(getattr(meta, "data_type", "")) or "VLenUTF8" in repr(getattr(meta, "filters", None))
    if t.kind in "OT": kind = "string" if is_text else "bytes"
    if meta is node and isinstance(attributes.get("filters"), list): del attributes["filters"]  # hidden there in drafts
    said = attributes.get("_ARRAY_DIMENSIONS")
    told = isinstance(said, list) and len(said) == data.ndim and not names and all(isinstance(n, (str, type(None))) for n in said)
    names = [None if n == f"_Anonymous_Dim_{length}" else n for n, length in zip(attributes.pop("_ARRAY_DIMENSIONS") if told else names or [None] * data.ndim, data.shape)]
    missing = missing_value(meta.fill_value, t, names, told or getattr(meta, "zarr_format", 2) != 3, attributes.pop("_FillValue", None))
    header = {"attributes": attributes, "data_type": kind, "dimension_names": names if any(n is not None for n in names) else None, "missing_value": missing, "shape": data.shape}
    def encode(line):
        if t.kind not in "OT": return line.astype(t.newbyteorder("<")).tobytes()
        return b"".join(struct.pack("<I", len(b)) + b for b in (x.encode() if isinstance(x, str) else bytes(x) for x in line))
    return sha(b"zarr.array.1\n", canonical(header), b"\n", root(data, encode, 64 if t.kind in "OT" else t.itemsize))
def checksum(node, path, out):
    digest, attributes = None, {n: v for n, v in node.attrs.asdict().items() if n != "_NCProperties" and not n.startswith(("_nczarr", "_NCZARR"))}
    if not hasattr(node, "shape"):
        members = {name: checksum(child, f"{path}/{name}", out).hex() for name, child in (node.members() if hasattr(node, "members") else node.items())}
        digest = sha(b"zarr.group.1\n", canonical({"attributes": attributes, "members": members}))
    out.append((path or "/", (digest := digest or array(node, attributes)).hex()))
    return digest
if __name__ == "__main__":
    checksum(zarr.open(sys.argv[1], mode="r", **({"zarr_version": 3} if sys.argv[2:] else {})), "", lines := [])
    print("\n".join(f"{digest}  {path}" for path, digest in sorted(lines)))
