// Asks the server that served this page, and no other.

export class ServerError extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

async function ask(path, parameters, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null) query.set(name, value);
  }
  let answer;
  try {
    answer = await fetch(`/-/${path}?${query}`, { signal, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "unreachable", "the server does not answer; is `zarr serve` still running?");
  }
  if (answer.ok) return answer;
  let told = null;
  try {
    told = (await answer.json()).error;
  } catch {
    // No words of the server's.
  }
  throw new ServerError(answer.status, told?.kind ?? "failed", told?.message ?? `the server answered with status ${answer.status}`);
}

export async function json(path, parameters = {}, signal) {
  return (await ask(path, parameters, signal)).json();
}

// A plane of values: `{values, height, width, isSingle}`; missing values are NaN.
export async function slice(parameters, signal) {
  const answer = await ask("slice", parameters, signal);
  const [height, width] = answer.headers.get("zarr-shape").split(",").map(Number);
  const isSingle = answer.headers.get("zarr-type") === "float32";
  const bytes = await answer.arrayBuffer();
  const reduced = answer.headers.get("zarr-reduce");
  return { values: isSingle ? new Float32Array(bytes) : new Float64Array(bytes), height, width, isSingle, reduced };
}

// A node's document in the view as v3.
export async function v3Document(path) {
  const answer = await fetch(`/v3/${path.split("/").map(encodeURIComponent).join("/")}/zarr.json`, { credentials: "omit" });
  const text = await answer.text();
  if (!answer.ok) throw new ServerError(answer.status, "failed", text.trim() || "v3 cannot represent it");
  return JSON.parse(text);
}

// Whether a request was given up because its answer is no longer needed.
export const isAborted = (error) => error.name === "AbortError";
