// Lines that open a node elsewhere, by this server's URLs.

import { el } from "./dom.js";
import { copyable } from "./panels.js";

// The types of elements that Rust has.
const RUST = { bool: "bool", int8: "i8", int16: "i16", int32: "i32", int64: "i64", uint8: "u8", uint16: "u16", uint32: "u32", uint64: "u64", float32: "f32", float64: "f64", string: "String" };

const encoded = (place) => place.map(encodeURIComponent).join("/");

// `name` is the hierarchy's, `place` the node's.
export function snippets(node) {
  const { origin } = location;
  const place = node.path.split("/");
  const root = node.target.split("/");
  const url = `${origin}/${encoded(place)}`;
  const v3 = `${origin}/v3/${encoded(place)}`;
  const isV3 = node.dialect === "v3";
  const isV2 = node.dialect === "v2";
  // Readers of v2 and v3 take the keys as they are; of other dialects they take the view.
  const direct = isV2 || isV3 ? url : v3;
  // The view has consolidated metadata, by which xarray finds all arrays.
  const hierarchy = `${origin}/v3/${encoded(root)}`;
  const inside = place.slice(root.length).join("/");
  const group = node.array ? place.slice(root.length, -1).join("/") : inside;
  const text = (value) => JSON.stringify(value);
  const last = place[place.length - 1];
  // An image: its group, which viewers of OME-Zarr take.
  const isImage = !node.array && Boolean((node.attributes.ome ?? node.attributes).multiscales);
  const all = [
    ["zarr-python", node.array
      ? `import zarr\n\narray = zarr.open_array(${text(direct)}, mode="r")\nprint(array.info)`
      : `import zarr\n\ngroup = zarr.open_group(${text(direct)}, mode="r")\nprint(group.tree())`],
    ["xarray", `import xarray\n\ndataset = xarray.open_zarr(${text(hierarchy)}${group ? `, group=${text(group)}` : ""})\nprint(dataset${node.array ? `[${text(last)}]` : ""})`],
    ["zarrita.js", `import * as zarr from "zarrita";\n\nconst store = new zarr.FetchStore(${text(direct)});\nconst node = await zarr.open${isV3 || !isV2 ? ".v3" : ".v2"}(store, { kind: ${text(node.kind)} });${node.array ? "\nconst { data, shape } = await zarr.get(node);" : ""}`],
    node.array && ["tensorstore", `import tensorstore\n\narray = tensorstore.open({\n    "driver": ${text(isV2 ? "zarr" : "zarr3")},\n    "kvstore": ${text(`${direct}/`)},\n}).result()\nprint(array.shape)`],
    isImage && ["napari", `# pip install "napari[all]" napari-ome-zarr\nnapari --plugin napari-ome-zarr ${shell(direct)}`],
    isImage && ["ome-zarr", `# pip install ome-zarr\nome_zarr info ${shell(direct)}`],
    (isImage || node.array) && ["neuroglancer", `zarr${isV2 ? 2 : 3}://${direct}`],
    ["Rust", node.array
      ? `// In Cargo.toml: zarr = { package = "zarrkit", path = "zarr/crates/zarr", features = ["http"] }\nlet array = zarr::open_array(${text(url)})?;\nlet values: Vec<${RUST[node.array.type] ?? "f64"}> = array.read(..)?;`
      : `// In Cargo.toml: zarr = { package = "zarrkit", path = "zarr/crates/zarr", features = ["http"] }\nlet group = zarr::open_group(${text(url)})?;\nfor child in group.children()? {\n    println!("{}", child.path);\n}`],
    ["zarr", `zarr info ${shell(url)}\nzarr copy ${shell(url)} copy.zarr`],
  ];
  return el(
    "div", { class: "panes" },
    el("p", {}, "The keys are at ", el("code", {}, `${url}/`), isV3 ? "." : ", as final v3 at ", isV3 ? null : el("code", {}, `${v3}/`), isV3 ? null : "."),
    all.filter(Boolean).map(([name, code]) => [el("h2", {}, name), copyable(code, `Lines for ${name}`)]),
    el("p", { class: "quiet" }, "Pages of other servers, such as those of neuroglancer and vizarr, may read it only if the server allows them: `zarr serve --cors`."),
  );
}

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
