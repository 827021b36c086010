"""Plausible lines that cannot work: each answer says what to do instead."""

import numpy as np
import pytest

import zarrkit

# What is typed, and what the answer has to say.
LINES = [
    ("zarrkit.open('ocaen.zarr')", "not found; looked for `zarr.json`"),
    ("zarrkit.open('ocaen.zarr')", "there is no such file or folder"),
    ("g['temprature']", "did you mean `/temperature`?"),
    ("zarrkit.open('ocean.zarr', 'w')", '"a" also creates what does not exist'),
    ("zarrkit.open_array('ocean.zarr')", "is a group; open it with zarrkit.open_group"),
    ("zarrkit.open_group('ocean.zarr/temperature')", "is an array; open it with zarrkit.open_array"),
    ("zarrkit.open('s4://bucket/x.zarr')", "expected one of:"),
    ("zarrkit.open('ocean.zarr')['temperature'][0] = 1", 'open it with mode="r+"'),
    ("g['new'] = np.zeros(3)", 'group.create_array("new", data=values)'),
    ("a[9]", "out of bounds"),
    ("a[0, 0, 0]", "too many indices"),
    ("a['lat']", "field"),
    ("a.isel(lot=0)", 'the array has ["time", "lat"]'),
    ("a[0] = np.zeros(5)", "could not broadcast input array from shape (5,) into shape (6,)"),
    ("del a[0]", "`resize` the array"),
    ("float(a)", "read one, as in float(a[0])"),
    ("a.append(np.zeros((1, 5), 'f4'))", "cannot append elements of shape [1, 5] along axis 0"),
    ("a.append(np.zeros((1, 5), 'f4'))", "expected length 6 along axis 1"),
    ("a.append(np.zeros(6, 'f4'))", "expected 2 axes"),
    ("a.stats()", "use the program that cargo installs: zarr stats"),
    ("a.rename('sst')", "group.move('old', 'new')"),
    ("g.rename('temperature', 'sst')", "group.move('old', 'new')"),
    ("zarrkit.open_xarray('ocean.zarr')", "xarray.open_dataset(place, engine='zarrkit') opens a dataset"),
    ("zarrkit.create('n.zarr', (10, 10), 'f4')", "create('n.zarr', shape=(10, 10), dtype='f4')"),
    ("zarrkit.create('n.zarr', 'x', (10, 10), 'f4')", "create('n.zarr', 'x', shape=(10, 10), dtype='f4')"),
    ("zarrkit.create_array('n.zarr', (10, 10))", "create_array('n.zarr', shape=(10, 10))"),
    ("g.create_array('temperature', shape=3, dtype='f4')", "overwrite=True"),
    ("g.create_array('n', shape=3)", 'data type is missing; give it as in `dtype="float32"`'),
    ("g.create_array('n', dtype='f4')", "shape is missing; give it as in `shape=(365, 180, 360)`"),
    ("g.create_array('n', shape=3, dtype='flaot32')", "did you mean"),
    ("g.create_array('n', shape=3, dtype='f4', codec='zsdt:3')", "did you mean `zstd`?"),
    ("g.create_array('n', shape=3, dtype='f4', codec='zstd:best')", "expected a number as in `zstd:3`"),
    ("g.create_array('n', shape=3, dtype='f4', codec=7)", "or a codec of numcodecs or zarr.codecs"),
    ("g.create_array('n', shape=3, dtype='f4', maxshape=(None,))", "every array can grow with `resize` and `append`"),
    ("g.create_array('n', shape=3, dtype='f4', synchronizer=object())", "writes are guarded"),
    ("g.create_array('n', shape=3, dtype='f4', chnks=2)", "did you mean 'chunks'?"),
    ("g.create_array('n', shape=3, dtype='f4', compressors=None, codec='zstd')", "`codec` has filters and compressors in one list"),
    ("g.create_array('n', shape=(3, -2), dtype='f4')", "must be a length, or one for each axis"),
    ("zarrkit.create('n.zarr', shape=3, dtype='f4', zarr_format=4)", "`zarr_format` must be 2 or 3"),
    ("zarrkit.zeros((3, 3))", 'store="data.zarr/x"'),
    ("g.require_array('temperature', shape=(1, 1))", "has shape (4, 6), not (1, 1)"),
    ("g.move('temperature', 'temperature/inside')", "choose a path outside"),
    ("zarrkit.aoi", "has no attribute 'aoi'"),
    ("g.temperature", "a member is an item: group['temperature']"),
    ("g.sel(lat=40)", "xarray.open_dataset(place, engine='zarrkit') selects by coordinate"),
    ("g.to_xarray()", "xarray.open_dataset(place, engine='zarrkit') opens it"),
    ("g.variables", "group.arrays() has the arrays"),
    ("g.create_dataset('n', shape=3)", "group.create_array(name, shape=..., dtype=...)"),
    ("g.ls()", "group.tree() draws what is in it"),
    ("g.open('temperature')", "group['temperature']"),
    ("g.zeros('n', shape=3)", "group.create_array(name, shape=..., dtype=...) makes an array of zeros"),
    ("g.close()", "nothing needs to be closed"),
    ("g.consolidate_metadata()", "group.consolidate()"),
    ("g.shape", "group['name'].shape"),
    ("g.create_arrray('n', shape=3)", "did you mean 'create_array'?"),
    ("g.nmembers()", "len(group)"),
    ("a.close()", "nothing needs to be closed"),
    ("a.get_orthogonal_selection([0])", "array.oindex[...]"),
    ("a.update_attributes({'units': 'K'})", "array.attrs.update(...)"),
    ("zarrkit.zeros_like(a)", "zarrkit.zeros(a.shape, store=place, dtype=a.dtype)"),
    ("zarrkit.save_array('n.zarr', np.zeros(3))", "zarrkit.create(place, data=values)"),
    ("zarrkit.File('n.zarr')", "zarrkit.open_group(place, 'a')"),
    ("zarrkit.open_array('n.zarr', mode='w', shape=3, dtype='f4')", "zarrkit.create(place, shape=..., dtype=..., overwrite=True)"),
    ("a.values", "array[...] reads all elements"),
    ("a.to_numpy()", "array[...] reads all elements"),
    ("a.to_dask()", "array.dask()"),
    ("a.to_xarray()", "engine='zarrkit'"),
    ("a.attributes", "array.attrs has the attributes"),
    ("a.dimensions", "array.dims has the names"),
    ("a.chunk_shape", "array.chunks has the shape"),
    ("a.compressor", "array.compressors has the compressors"),
    ("a.units", "an attribute is an item: array.attrs['units']"),
    ("a.max()", "read the elements first: array[...].max"),
    ("plain.isel(lat=0)", "the array's dimensions have no names; select by axis"),
    ("zarrkit.compare('ocean.zarr', 'n.zarr')", "zarrkit.diff(a, b) compares"),
    ("zarrkit.open('notes.txt')", "this is a file, not a Zarr hierarchy"),
    ("zarrkit.open('ocaen.zarr')", "ocean.zarr`?"),
    ("g.create_array('n', shape=3, dtype='f4', fill=0)", "did you mean 'fill_value'?"),
    ("g.create_array('n', shape=(3, 3), dtype='f4', dims='xy')", "1 name for 2 axes"),
    ("a.mean()", "read the elements first: array[...].mean"),
    ("a.sel(lat=50)", "select by position, as in array.isel(lat=0)"),
    ("zarrkit.load('ocean.zarr/temperature')", "zarrkit.open_array(place)[...] reads an array"),
    ("zarrkit.save('n.zarr', np.zeros(3))", "zarrkit.create(place, data=values) stores an array"),
    ("zarrkit.group('n.zarr')", "zarrkit.open_group(place, 'a') opens a group or creates it"),
    ("zarrkit.consolidate_metadata('ocean.zarr')", "zarrkit.open_group(place, 'r+').consolidate()"),
    ("zarrkit.rechunk('ocean.zarr', 'n.zarr', chunks={'time': 1})", "zarrkit.copy(source, target, chunks={'time': 100})"),
    ("zarrkit.migrate('ocean.zarr', 'v2')", "zarrkit.copy(source, target, to='v3') converts"),
    ("zarrkit.append('ocean.zarr', 'n.zarr')", ".append(values, axis=0)"),
    ("zarrkit.copy('ocean.zarr', 'n.zarr', format='v2')", "did you mean 'to'?"),
    ("zarrkit.copy('ocean.zarr', 'n.zarr', codec='zstd')", "did you mean 'codecs'?"),
    ("zarrkit.copy('ocean.zarr', 'n.zarr', chnks=3)", "did you mean 'chunks'?"),
    ("zarrkit.plot(a)", "zarr plot"),
    ("zarrkit.stats(a)", "zarr stats"),
    ("zarrkit.tree(g)", "zarrkit.open_group(place).tree()"),
    ("zarrkit.open_group('n.zarr', mode='w')", "create_group and create_array with overwrite=True replace what is there"),
]


@pytest.mark.parametrize("line, says", LINES, ids=[line for line, _ in LINES])
def test_wrong_lines_are_answered_with_what_to_do(tmp_path, monkeypatch, line, says):
    monkeypatch.chdir(tmp_path)
    g = zarrkit.open_group("ocean.zarr", "a")
    a = g.create_array("temperature", data=np.zeros((4, 6), "f4"), chunks=(2, 3), dims=("time", "lat"))
    a.attrs["units"] = "K"
    plain = g.create_array("plain", shape=(2, 2), dtype="i1")
    (tmp_path / "notes.txt").write_text("not an array")
    with pytest.raises(Exception) as caught:
        exec(line, {"zarrkit": zarrkit, "np": np, "g": g, "a": a, "plain": plain})
    assert says in str(caught.value), f"{line}: {type(caught.value).__name__}: {caught.value}"
