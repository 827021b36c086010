"""ome-zarr-models 1.8.1 accepts what `zarr` makes of OME-Zarr images for the other version of Zarr, 0.4 in v2 and 0.5 in v3.

ome-zarr 0.21 and ngff-zarr 0.50 write images, labels, a plate and a collection of both versions. Each is copied, migrated and
served, and packed into a single file (RFC-9); each group with OME-Zarr metadata opens in ome-zarr-models as the same model as before; and a conversion there and back leaves equal
metadata. `--examples FOLDER` takes the examples of ome-zarr-models, too: `tests/data/examples` of its repository.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
import warnings
import zipfile
from pathlib import Path

import ngff_zarr
import numpy as np
import ome_zarr.format
import ome_zarr.writer
import ome_zarr_models.v04
import ome_zarr_models.v05
import zarr

warnings.simplefilter("ignore")
IMAGE = np.arange(2 * 3 * 32 * 48, dtype="<u2").reshape(2, 3, 32, 48)
FORMATS = {2: ome_zarr.format.FormatV04(), 3: ome_zarr.format.FormatV05()}
VERSIONS = {2: ome_zarr_models.v04, 3: ome_zarr_models.v05}
# The model of a group, by the first of these that its metadata have.
MODELS = {
    "plate": "HCS",
    "image-label": "ImageLabel",
    "multiscales": "Image",
    "labels": "Labels",
    "well": "Well",
    "bioformats2raw.layout": "BioFormats2Raw",
}
# What breaks a rule of its own version, which the conversion mends.
MENDED = {
    "image, v3": "ome-zarr's list of labels without the version that 0.5 demands",
    "v05/bioformats2raw_example.json": "a plate without the version that 0.5 demands",
    "v05/image_no_version_example.json": "0.5 without the version that it demands",
}


def image(path, dialect):
    """An image with two channels, three levels and labels, by ome-zarr."""
    root = zarr.open_group(path, mode="w", zarr_format=dialect)
    channels = [{"color": "00FF00", "window": {"start": 0, "end": 900, "min": 0, "max": 65535}, "label": "DAPI", "active": True}] * 2
    omero = {"channels": channels, "rdefs": {"defaultZ": 1, "model": "color"}}
    ome_zarr.writer.write_image(IMAGE, root, axes="czyx", fmt=FORMATS[dialect], scale_factors=[2, 4], metadata={"omero": omero})
    labels = (IMAGE[0] % 3).astype("u1")
    colors = {"colors": [{"label-value": 1, "rgba": [255, 0, 0, 255]}]}
    ome_zarr.writer.write_labels(labels, root, "cells", axes="zyx", fmt=FORMATS[dialect], scale_factors=[2, 4], label_metadata=colors)
    root.attrs["of another program"] = {"version": "0.4", "multiscales": [1]}


def plate(path, dialect):
    """A plate of two wells, by ome-zarr."""
    root = zarr.open_group(path, mode="w", zarr_format=dialect)
    ome_zarr.writer.write_plate_metadata(root, ["A"], ["1", "2"], ["A/1", "A/2"], fmt=FORMATS[dialect], field_count=1)
    for well in ("A/1", "A/2"):
        group = root.require_group(well)
        ome_zarr.writer.write_well_metadata(group, ["0"], fmt=FORMATS[dialect])
        ome_zarr.writer.write_image(IMAGE[0], group.require_group("0"), axes="zyx", fmt=FORMATS[dialect], scale_factors=[2])


def collection(path, dialect):
    """A collection as bioformats2raw writes it, with the image by ome-zarr."""
    root = zarr.open_group(path, mode="w", zarr_format=dialect)
    nested = (lambda members: {"ome": {"version": "0.5", **members}}) if dialect == 3 else (lambda members: members)
    root.attrs.update(nested({"bioformats2raw.layout": 3}))
    root.require_group("OME").attrs.update(nested({"series": ["0"]}))
    (Path(path) / "OME/METADATA.ome.xml").write_text("<OME/>")
    ome_zarr.writer.write_image(IMAGE[0], root.require_group("0"), axes="zyx", fmt=FORMATS[dialect], scale_factors=[2])


def ngff(path, dialect):
    """An image by ngff-zarr."""
    pixels = ngff_zarr.to_ngff_image(IMAGE[0], dims=["z", "y", "x"], scale={"z": 2.0, "y": 0.5, "x": 0.5}, axes_units={"x": "micrometer"})
    levels = ngff_zarr.to_multiscales(pixels, scale_factors=[2])
    ngff_zarr.to_ngff_zarr(path, levels, version={2: "0.4", 3: "0.5"}[dialect])


def with_arrays(group, attributes, dialect):
    """Gives a group these attributes, and the arrays that they name."""
    group.attrs.update(attributes)
    for item in attributes.get("ome", attributes).get("multiscales", []):
        names = [axis["name"] for axis in item["axes"]]
        named = {"dimension_names": names} if dialect == 3 else {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
        for level in item["datasets"]:
            group.create_array(level["path"], shape=(4,) * len(names), chunks=(2,) * len(names), dtype="u1", **named)


def example(source):
    """The writer of an example of ome-zarr-models: attributes, to which arrays are added."""

    def read(name):
        return json.loads((source.parent / name).read_text())

    def write(path, dialect):
        if source.is_dir():
            shutil.copytree(source, path)
            return
        root = zarr.open_group(path, mode="w", zarr_format=dialect)
        attributes = read(source.name)
        if source.name.startswith(("plate", "omero")) and dialect == 2:
            attributes = {source.name.split("_")[0]: attributes}
        if source.name.startswith("omero"):
            attributes |= read("multiscales_example.json")
        if source.name != "labels_example.json":
            with_arrays(root, attributes, dialect)
            return
        # A list of labels is for the group of that name.
        with_arrays(root.require_group("labels"), attributes, dialect)
        for label in attributes["ome"]["labels"]:
            with_arrays(root.require_group(f"labels/{label}"), read("image_label_example.json"), dialect)

    return write


def run(program, *arguments, binary=False):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True)
    error = done.stderr.decode()
    assert not done.returncode, f"zarr {' '.join(map(str, arguments))}: {error}"
    return done.stdout if binary else done.stdout.decode() + error


def attributes_of(path, dialect):
    """The attributes of all groups, by their path; `path` is a folder."""
    found = {}
    for document in path.rglob(".zgroup" if dialect == 2 else "zarr.json"):
        if dialect == 2:
            file = document.with_name(".zattrs")
            attributes = json.loads(file.read_text()) if file.exists() else {}
        else:
            parsed = json.loads(document.read_text())
            if parsed["node_type"] != "group":
                continue
            attributes = parsed.get("attributes", {})
        found[str(document.parent.relative_to(path))] = attributes
    return found


def models_of(path, dialect):
    """The models that accept the groups with OME-Zarr metadata, or why they do not."""
    accepted = {}
    for place, attributes in attributes_of(path, dialect).items():
        attributes = attributes.get("ome", {}) if dialect == 3 else attributes
        name = next((MODELS[key] for key in MODELS if key in attributes), None)
        if name is None:
            continue
        group = zarr.open_group(path / place, mode="r", zarr_format=dialect)
        try:
            getattr(VERSIONS[dialect], name).from_zarr(group)
            accepted[place] = name
        except Exception as error:
            accepted[place] = f"not {name}: {error}"
    return accepted


def consolidated_of(path, dialect):
    """The attributes that consolidated metadata have of the groups, if there are any."""
    if dialect == 2:
        file = path / ".zmetadata"
        members = json.loads(file.read_text())["metadata"] if file.exists() else {}
        groups = {name: members.get(name.replace(".zgroup", ".zattrs"), {}) for name in members if name.endswith(".zgroup")}
        return {name.removesuffix(".zgroup").strip("/") or ".": attributes for name, attributes in groups.items()}
    members = json.loads((path / "zarr.json").read_text()).get("consolidated_metadata") or {"metadata": {}}
    return {name: member.get("attributes", {}) for name, member in members["metadata"].items() if member["node_type"] == "group"}


def check_levels(path):
    """Arrays of images in v3 have the axes as dimension names."""
    for place, attributes in attributes_of(path, 3).items():
        for item in attributes.get("ome", {}).get("multiscales", []):
            for level in item["datasets"]:
                array = zarr.open_array(path / place / level["path"], mode="r", zarr_format=3)
                names = [axis["name"] for axis in item["axes"]]
                assert list(array.metadata.dimension_names) == names, f"{place}: {array.metadata.dimension_names}"


def check_served(program, path, documents):
    """The view as v3 has the documents of a copy."""
    with subprocess.Popen([program, "serve", path, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            line = server.stdout.readline()
            while "http://" not in line:
                assert line, "zarr serve ended"
                line = server.stdout.readline()
            address = "http://" + line.split("http://")[1].split()[0].rstrip("/").split("/")[0]
            for place, attributes in documents.items():
                url = f"{address}/v3/{path.name}/{place}/zarr.json".replace("/./", "/")
                with urllib.request.urlopen(url) as answer:
                    found = json.loads(answer.read()).get("attributes", {})
                assert found == attributes, f"served {place}: {found}"
        finally:
            server.terminate()


def check_archive(program, source, models, folder):
    """A single-file OME-Zarr has its documents first, as Python's zipfile sees them and as ngff-zarr is told."""
    archive = folder / "archive.ozx"
    run(program, "copy", source, archive)
    version, is_first = ngff_zarr.read_ozx_version(archive), ngff_zarr.read_ozx_json_first(archive)
    assert (version, is_first) == ("0.5", True), f"comment: {version}, {is_first}"
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        entries = opened.infolist()
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
        assert sorted(entries, key=lambda entry: entry.header_offset) == entries
        names = [entry.filename for entry in entries]
        is_document = [name.endswith("zarr.json") for name in names]
        assert names[0] == "zarr.json" and is_document == sorted(is_document, reverse=True), f"order: {names}"
        depths = [name.count("/") for name in names if name.endswith("zarr.json")]
        assert depths == sorted(depths), f"order: {names}"
        opened.extractall(folder / "unpacked")
    assert models_of(folder / "unpacked", 3) == models
    run(program, "diff", source, archive)


def check(program, name, write, dialect, folder):
    """What is wrong with the conversions of a hierarchy, if anything."""
    other = 5 - dialect
    source, there, back = (folder / f"{step}.zarr" for step in ("source", "there", "back"))
    write(str(source), dialect)
    run(program, "consolidate", source)
    before = attributes_of(source, dialect)
    models = models_of(source, dialect)
    said = run(program, "copy", source, there, "--to", f"v{other}", "--verify")
    assert "OME-Zarr metadata are converted" in said, f"not told: {said}"
    found = models_of(there, other)
    same = models if name not in MENDED else {place: model for place, model in found.items() if not model.startswith("not ")}
    assert found == same, f"{found}, expected {models}"
    models = found
    assert not any(model.startswith("not ") for model in models.values()), f"not accepted: {models}"
    for place, attributes in consolidated_of(there, other).items():
        assert attributes == attributes_of(there, other)[place], f"consolidated metadata of {place}: {attributes}"
    if other == 3:
        check_levels(there)
        check_served(program, source, attributes_of(there, 3))
    run(program, "diff", source, there)
    run(program, "diff", there, source)
    if name not in MENDED:
        check_archive(program, source, models, folder)
    run(program, "copy", there, back, "--to", f"v{dialect}")
    assert models_of(back, dialect) == models, f"back: {models_of(back, dialect)}"
    if name not in MENDED:
        after = attributes_of(back, dialect)
        assert after == before, f"there and back: {after}, expected {before}"
    kept = folder / "kept.zarr"
    run(program, "copy", source, kept, "--to", f"v{other}", "--keep-attributes")
    assert attributes_of(kept, other) == before, "--keep-attributes"
    # In place, and back again.
    migrated = folder / "migrated.zarr"
    shutil.copytree(source, migrated)
    steps = ["--to", f"v{other}", "--keep-fill"]
    done = subprocess.run([program, "migrate", migrated, *steps], capture_output=True, text=True)
    if dialect == 3 and "other keys" in done.stderr:
        return models
    assert not done.returncode, f"migrate: {done.stderr}"
    run(program, "migrate", migrated, *steps, "--finish")
    assert attributes_of(migrated, other) == attributes_of(there, other), "migrated"
    assert models_of(migrated, other) == models
    steps = ["--to", f"v{dialect}", "--keep-fill"]
    run(program, "migrate", migrated, *steps)
    run(program, "migrate", migrated, *steps, "--finish")
    if name not in MENDED:
        assert attributes_of(migrated, dialect) == before, "migrated there and back"
    assert models_of(migrated, dialect) == models
    return models


def read_archive(program, folder):
    """The elements of a single-file OME-Zarr that ngff-zarr wrote, and of ours that it reads."""
    ngff(str(folder / "theirs.ozx"), 3)
    theirs = run(program, "get", folder / "theirs.ozx", "--path", "scale0/image", "--format", "raw", binary=True)
    assert np.array_equal(np.frombuffer(theirs, "<u2").reshape(IMAGE[0].shape), IMAGE[0]), "their archive"
    run(program, "copy", folder / "theirs.ozx", folder / "ours.ozx")
    ours = ngff_zarr.from_ngff_zarr(str(folder / "ours.ozx")).images[0].data
    assert np.array_equal(np.asarray(ours), IMAGE[0]), "our archive"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--examples", type=Path)
    options = parser.parse_args()
    cases = [(f"{write.__name__}, v{dialect}", write, dialect) for write in (image, plate, collection, ngff) for dialect in (2, 3)]
    if options.examples:
        for version, dialect in (("v04", 2), ("v05", 3)):
            sources = sorted((options.examples / version).iterdir())
            cases += [(f"{version}/{source.name}", example(source), dialect) for source in sources]
    began, groups, failed = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        read_archive(options.program, Path(folder))
    for name, write, dialect in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                groups += len(check(options.program, name, write, dialect, Path(folder)))
            except Exception as error:
                failed += 1
                print(f"{name}: wrong: {error}")
    print(f"OME-Zarr: {len(cases)} hierarchies, {groups} groups accepted in both versions, {failed} wrong; {time.monotonic() - began:.0f} s")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
