"""The checksum that docs/checksum.md defines, over zarr-python 3, or 2 for the drafts: `checksum.py STORE [draft]` prints `HEX  PATH` lines.

Left out: NCZarr's own types, JSON, lists, nullable elements, types of third parties and those that NumPy does not have.
"""
import base64, hashlib, itertools, json, os, struct, sys

os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
import numpy as np, zarr

def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

def value(x):  # numbers by their value
    if isinstance(x, dict): return {name: value(item) for name, item in x.items()}
    if isinstance(x, (list, tuple)): return [value(item) for item in x]
    if isinstance(x, (bool, str, type(None))): return x
    if isinstance(x, int) and -(2**63) <= x < 2**64: return x
    x = float(x)
    if not np.isfinite(x): return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    return int(x) if x.is_integer() and -(2**63) <= x < 2**64 else x

def canonical(x):
    return json.dumps(value(x), sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()

def type_name(t):
    if t.names: return ["record", [[n, type_name(t[n].base), list(t[n].shape)] for n in t.names]]
    if t.kind in "Mm": return ["datetime64" if t.kind == "M" else "timedelta64", *np.datetime_data(t)]
    sized = {"S": ("bytes", 1), "U": ("utf32", 4), "V": ("raw", 1)}.get(t.kind)
    return [sized[0], t.itemsize // sized[1]] if sized else t.name

def missing_value(fill, t, names, masks_fill, attribute, kind):  # kind: string, bytes or the type
    if not names or (t.kind not in "iufcSU" and kind not in ("string", "bytes")): return None
    named, to_bytes = all(names), lambda x: b"" if x in (None, 0) else x.encode() if isinstance(x, str) else bytes(x)
    if kind not in ("string", "bytes"): to_bytes = lambda x: np.array(x).astype(t.newbyteorder("<")).tobytes()
    def number(x):
        if t.kind in "SU": return base64.b64decode(x) if t.kind == "S" else x
        if isinstance(x, list) and len(x) == 1: x = x[0]
        if isinstance(x, list): return complex(*map(number, x))
        return struct.unpack("<d", base64.b64decode(x))[0] if isinstance(x, str) and t.kind in "fc" and len(x) == 12 else t.kind in "fc" and float(x) or x
    declared = None if attribute is None else to_bytes(number(attribute) if t.kind in "iufcSU" else attribute)
    found = to_bytes(fill) if named and masks_fill and fill is not None else declared
    if not named and declared == to_bytes(0 if fill is None else fill): return None
    if found is None or (t.kind not in "iufc" and not (found := found.rstrip(b"\0"))): return None
    usual = {"i": lambda: -(2 ** (8 * t.itemsize - 1)) + (1 if t.itemsize < 8 else 2), "u": lambda: 2 ** (8 * t.itemsize) - (1 if t.itemsize < 8 else 2), "f": lambda: 9.96921e36}
    if t.kind in usual and t.name != "float16" and np.frombuffer(found, t.newbyteorder("<")).astype("f4" if t.kind == "f" else t)[0] == np.array(usual[t.kind](), "f4" if t.kind == "f" else t): return None
    parts = np.frombuffer(found, f"<f{t.itemsize // (1 + (t.kind == 'c'))}") if t.kind in "fc" else ()
    return (b"".join(np.array(np.nan if p != p else p, p.dtype).tobytes() for p in parts) or found).hex()

def root(a, encode, size):
    block = [1] * a.ndim
    while a.ndim and block[-1] < a.shape[-1] and block[-1] * 2 * size <= 1024: block[-1] *= 2
    while (open_axes := [i for i in range(a.ndim) if block[i] < a.shape[i]]) and np.prod(block) * size * 2 <= 2**20:
        block[min(open_axes, key=lambda i: (block[i], -i))] *= 2
    level = []
    for corner in itertools.product(*(range(0, n, b) for n, b in zip(a.shape, block))):
        part = a[tuple(slice(c, c + b) for c, b in zip(corner, block))]
        level.append(sha(b"zarr.block.1\n", *(sha(encode(line)) for line in part.reshape(-1, part.shape[-1] if a.ndim else 1))))
    while True:
        level = [sha(b"zarr.level.1\n", *level[i : i + 256]) for i in range(0, max(len(level), 1), 256)]
        if len(level) == 1: return level[0]

def array(node, attributes):
    data, meta = np.asarray(node[...]), getattr(node, "metadata", None)
    fill, filters = (node.fill_value, node.filters) if meta is None else (meta.fill_value, getattr(meta, "filters", None))
    names, is_v3 = getattr(meta, "dimension_names", None), getattr(meta, "zarr_format", 2) == 3
    kind, t = type_name(data.dtype), data.dtype
    if t.kind in "OT": kind = "string" if t.kind == "T" or "UTF8" in repr(getattr(meta, "data_type", "")) or filters and filters[0].codec_id == "vlen-utf8" else "bytes"
    stated = attributes.get("_ARRAY_DIMENSIONS")
    if meta is None and isinstance(attributes.get("filters"), list): del attributes["filters"]
    told = isinstance(stated, list) and len(stated) == data.ndim and not names and all(isinstance(n, (str, type(None))) for n in stated)
    names = [None if n == f"_Anonymous_Dim_{length}" else n for n, length in zip((stated if told else names) or [], data.shape)]
    missing = missing_value(fill, t, names or [None] * data.ndim, not is_v3 or told, attributes.pop("_FillValue", None), kind)
    if told: del attributes["_ARRAY_DIMENSIONS"]
    header = {"attributes": attributes, "data_type": kind, "dimension_names": names if any(n is not None for n in names) else None, "missing_value": missing, "shape": data.shape}
    if t.kind in "OT": encode, size = (lambda line: b"".join(struct.pack("<I", len(b)) + b for b in (x.encode() if isinstance(x, str) else bytes(x) for x in line))), 64
    else: encode, size = (lambda line: line.astype(t.newbyteorder("<")).tobytes()), t.itemsize
    return sha(b"zarr.array.1\n", canonical(header), b"\n", root(data, encode, size))

def checksum(node, path, out):
    attributes = {n: v for n, v in node.attrs.asdict().items() if n != "_NCProperties" and not n.startswith(("_nczarr", "_NCZARR"))}
    if hasattr(node, "shape"): digest = array(node, attributes)
    else:
        children = node.members() if hasattr(node, "members") else node.items()
        members = {name: checksum(child, f"{path}/{name}", out).hex() for name, child in children}
        digest = sha(b"zarr.group.1\n", canonical({"attributes": attributes, "members": members}))
    out.append((path or "/", digest.hex()))
    return digest

if __name__ == "__main__":
    lines, options = [], {"zarr_version": 3} if sys.argv[2:] == ["draft"] else {}
    checksum(zarr.open(sys.argv[1], mode="r", **options), "", lines)
    print("\n".join(f"{digest}  {path}" for path, digest in sorted(lines)))
