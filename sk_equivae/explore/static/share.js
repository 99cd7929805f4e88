// The state in the address, so that a view can be shared; and the picture to save.
"use strict";

const toText = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const fromText = (text) => bytesOf(text.replaceAll("-", "+").replaceAll("_", "/"));
const floatsToText = (values) => toText(new Uint8Array(Float32Array.from(values).buffer));
const floatsFromText = (text) => floatsOf(text.replaceAll("-", "+").replaceAll("_", "/"));

/** Inputs of at most this many values are part of the address: pixels as bytes, features whole. */
const MAX_SHARED = 3072;

/** The state as the part of an address behind "#". */
function stateToHash(state, model) {
  const parts = new URLSearchParams();
  parts.set("tab", state.tab);
  parts.set("map", state.map);
  parts.set("class", model.classes[state.code]);
  parts.set("v", floatsToText(state.v));
  if (state.basis !== model.start.basis) parts.set("basis", state.basis);
  if (`${state.axes}` !== `${model.start.axes}`) parts.set("axes", state.axes.join("-"));
  if (state.origin === "way") parts.set("way", state.time.toFixed(3));
  if (state.origin === "way" || state.origin === "place") parts.set("r", floatsToText(state.r));
  const { input } = state;
  if (input && input.row && input.row.length <= MAX_SHARED) {
    if (model.kind === "image") {
      const [low, high] = model.limits;
      const byte = (a) => clamp(Math.round((255 * (a - low)) / (high - low)), 0, 255);
      parts.set("x", toText(Uint8Array.from(input.row, byte)));
    } else {
      parts.set("x", floatsToText(input.row));
    }
  }
  return parts.toString();
}

/** Changes of the state from an address; what does not fit this model is left out. */
function stateFromHash(hash, model) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const changes = {};
  const vector = (name, size) => {
    try {
      const values = floatsFromText(parts.get(name) || "");
      return values.length === size && values.every(Number.isFinite) ? values : null;
    } catch {
      return null;
    }
  };
  const [nR, nV] = model.n_latents;
  const code = model.classes.indexOf(parts.get("class"));
  if (code >= 0) changes.code = code;
  const v = vector("v", nV);
  if (v) changes.v = v;
  const r = vector("r", nR);
  if (r) changes.r = r;
  if (["map", "style", "way", "gallery"].includes(parts.get("tab"))) changes.tab = parts.get("tab");
  if (["r", "v"].includes(parts.get("map"))) changes.map = parts.get("map");
  const basis = Number(parts.get("basis") || model.start.basis);
  if (model.bases[basis]) changes.basis = basis;
  const axes = (parts.get("axes") || "").split("-").map(Number);
  if (axes.length === 2 && axes[0] !== axes[1] && axes.every((k) => k >= 0 && k < nV)) {
    changes.axes = axes;
  }
  changes.inputRow = rowFromText(parts.get("x"), model);
  return changes;
}

function rowFromText(text, model) {
  if (!text) return null;
  const size = model.kind === "image" ? model.shape.reduce((a, b) => a * b, 1) : model.features.length;
  try {
    if (model.kind !== "image") {
      const values = floatsFromText(text);
      return values.length === size ? Float64Array.from(values) : null;
    }
    const bytes = fromText(text);
    const [low, high] = model.limits;
    const value = (byte) => low + (byte / 255) * (high - low);
    return bytes.length === size ? Float64Array.from(bytes, value) : null;
  } catch {
    return null;
  }
}

/** Paint what is on the stage on one canvas: the input, what the model made of it, the classes. */
function makePoster(app) {
  const { model, state } = app;
  const [SIDE, GAP] = [320, 24];
  const nClasses = model.classes.length;
  const tiles = Array.from(document.querySelectorAll("#classes canvas"));
  const columns = Math.min(nClasses, 10);
  const cell = (2 * SIDE + GAP) / columns;
  const [width, pictures] = [2 * SIDE + 3 * GAP, model.kind === "image" ? SIDE + 36 : 0];
  const lines = Math.ceil(nClasses / columns);
  const height = 3 * GAP + 40 + pictures + lines * (cell + 44);
  const poster = element("canvas");
  const ratio = 2;
  resize(poster, width * ratio, Math.round(height * ratio));
  const context = poster.getContext("2d");
  context.scale(ratio, ratio);
  context.fillStyle = cssColor("--card");
  context.fillRect(0, 0, width, height);
  const write = (text, x, y, font, color = "--text", align = "left") => {
    context.fillStyle = color.startsWith("--") ? cssColor(color) : color;
    context.font = `${font} system-ui, sans-serif`;
    context.textAlign = align;
    context.fillText(text, x, y);
  };
  write(document.title, GAP, GAP + 18, "600 20px");
  write($("verdict").textContent, width - GAP, GAP + 18, "16px", "--soft", "right");
  let top = 2 * GAP + 14;
  context.imageSmoothingEnabled = false;
  if (pictures) {
    context.filter = model.invert ? "invert(1)" : "none";
    context.drawImage($("sketch"), GAP, top, SIDE, SIDE);
    context.filter = "none";
    context.drawImage($("picture"), 2 * GAP + SIDE, top, SIDE, SIDE);
    context.strokeStyle = cssColor("--line");
    for (const left of [GAP, 2 * GAP + SIDE]) context.strokeRect(left, top, SIDE, SIDE);
    write($("input-title").textContent, GAP, top + SIDE + 20, "13px", "--soft");
    write($("recipe").textContent, 2 * GAP + SIDE, top + SIDE + 20, "13px", "--soft");
    top += pictures + 8;
  }
  const p = state.input && state.input.reading ? state.input.reading.probabilities : null;
  tiles.forEach((tile, code) => {
    const left = GAP + (code % columns) * cell;
    const y = top + Math.floor(code / columns) * (cell + 44);
    const color = classColor(code, nClasses);
    context.drawImage(tile, left + 3, y, cell - 6, cell - 6);
    write(model.classes[code].slice(0, 12), left + cell / 2, y + cell + 8, "600 13px", color, "center");
    context.fillStyle = cssColor("--line");
    context.fillRect(left + 3, y + cell + 15, cell - 6, 5);
    context.fillStyle = color;
    context.fillRect(left + 3, y + cell + 15, p ? (cell - 6) * p[code] : 0, 5);
  });
  return poster;
}
