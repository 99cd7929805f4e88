// The decoder p(x | r, v) in plain JavaScript. `decoder.py` writes its layers and weights;
// tests/explore/test_explore.py compares its output with that of the Python decoder.
"use strict";

/** Bytes of a base64 string. */
function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Little-endian float32 values of a base64 string. */
function floatsOf(base64) {
  return new Float32Array(bytesOf(base64).buffer);
}

function rectify(x) {
  for (let i = 0; i < x.length; i++) if (x[i] < 0) x[i] = 0;
  return x;
}

/** weight (n_out, n_in) times x, plus bias. */
function linear(x, weight, bias) {
  const out = new Float32Array(bias.length);
  const n = x.length;
  for (let o = 0; o < out.length; o++) {
    let sum = bias[o];
    for (let i = 0, at = o * n; i < n; i++) sum += weight[at + i] * x[i];
    out[o] = sum;
  }
  return out;
}

/**
 * The first grid of an image, from the flat (channels, height, width) of a linear layer to
 * (height, width, channels); `rows` and `columns` say where each pixel comes from.
 */
function grid(x, { channels, in_size: [height, width], rows, columns }) {
  const out = new Float32Array(rows.length * columns.length * channels);
  let at = 0;
  for (const row of rows) {
    for (const column of columns) {
      for (let c = 0; c < channels; c++) out[at++] = x[(c * height + row) * width + column];
    }
  }
  return out;
}

/**
 * A convolution of stride 1 that keeps the size, or a transposed one of stride 2 and
 * padding 2. It goes by outputs: on the small grids of a decoder most of a kernel falls
 * outside of the image, and costs nothing this way. Channels come last, in x as in weights.
 */
function prepareConvolution(layer, weight, bias) {
  const { n_in: nIn, n_out: nOut, in_size: inSize, out_size: outSize, kernel } = layer;
  const up = layer.op === "upconv";
  const nTaps = kernel[0] * kernel[1];
  // from (n_out, n_in, taps), or (n_in, n_out, taps) of a transposed one, to (taps, n_out, n_in)
  const ordered = new Float32Array(weight.length);
  for (let tap = 0; tap < nTaps; tap++) {
    for (let o = 0; o < nOut; o++) {
      for (let i = 0; i < nIn; i++) {
        const from = (up ? i * nOut + o : o * nIn + i) * nTaps + tap;
        ordered[(tap * nOut + o) * nIn + i] = weight[from];
      }
    }
  }
  // along one axis, for each output: the taps that fall on an input, and that input
  const sources = [0, 1].map((axis) =>
    Array.from({ length: outSize[axis] }, (_, at) => {
      const pairs = [];
      for (let k = 0; k < kernel[axis]; k++) {
        const half = kernel[axis] >> 1;
        const from = up ? (at + half - k) / 2 : at + k - half;
        if (Number.isInteger(from) && from >= 0 && from < inSize[axis]) pairs.push([k, from]);
      }
      return pairs;
    })
  );

  return (x) => {
    const out = new Float32Array(outSize[0] * outSize[1] * nOut);
    let at = 0;
    for (const vertical of sources[0]) {
      for (const horizontal of sources[1]) {
        for (let o = 0; o < nOut; o++) out[at + o] = bias[o];
        for (const [ky, row] of vertical) {
          for (const [kx, column] of horizontal) {
            const from = (row * inSize[1] + column) * nIn;
            let w = (ky * kernel[1] + kx) * nOut * nIn;
            for (let o = 0; o < nOut; o++) {
              let sum = 0;
              for (let i = 0; i < nIn; i++) sum += ordered[w++] * x[from + i];
              out[at + o] += sum;
            }
          }
        }
        at += nOut;
      }
    }
    return out;
  };
}

/**
 * The decoder of a model as `decoder.py` describes it.
 *
 * `decode(r, v)` gives the mean of p(x | r, v) in the user's units, channels first.
 * `show(x)` brings it to what is drawn: [0, 1] for pixels and for features that are
 * probabilities; for other features the distance from the mean, 1 at `model.reach`
 * standard deviations. Of images without colours it is the mean over the channels.
 */
function makeDecoder(model) {
  const weights = floatsOf(model.weights);
  const part = ([start, count]) => weights.subarray(start, start + count);
  function prepare(layer) {
    const compute =
      layer.op === "grid"
        ? (x) => grid(x, layer)
        : layer.op === "linear"
          ? (x) => linear(x, part(layer.weight), part(layer.bias))
          : prepareConvolution(layer, part(layer.weight), part(layer.bias));
    return layer.relu ? (x) => rectify(compute(x)) : compute;
  }
  const denseR = prepare(model.dense_r);
  const denseV = prepare(model.dense_v);
  const layers = model.layers.map(prepare);
  const bernoulli = model.likelihood === "bernoulli";
  const perGroup = model.shape.slice(1).reduce((a, b) => a * b, 1);
  const [low, high] = model.limits || [0, 1];

  function decode(r, v) {
    const fromR = denseR(r);
    const fromV = denseV(v);
    let x = new Float32Array(fromR.length + fromV.length);
    x.set(fromR);
    x.set(fromV, fromR.length);
    for (const layer of layers) x = layer(x);
    const out = new Float64Array(x.length);
    const nGroups = model.shape[0];
    for (let i = 0; i < x.length; i++) {
      const group = i % nGroups; // the channel, which comes last, or the feature
      const mean = bernoulli ? 1 / (1 + Math.exp(-x[i])) : x[i];
      const place = group * perGroup + Math.floor(i / nGroups);
      const value = mean * model.scale[group] + model.shift[group];
      if (model.columns) out[place] = repair(value, model.columns[group]);
      else out[place] = model.bytes ? clamp(value, 0, 255) : value;
    }
    return out;
  }

  function channelMean(x) {
    const [nChannels, height, width] = model.shape;
    const mean = new Float64Array(height * width);
    x.forEach((a, i) => (mean[i % mean.length] += a / nChannels));
    return mean;
  }

  function show(x) {
    if (model.kind === "image") {
      const pixels = model.drawn_channels === model.shape[0] ? x : channelMean(x);
      return pixels.map((a) => clamp((a - low) / (high - low), 0, 1));
    }
    return x.map((a, i) => {
      const z = (a - model.shift[i]) / model.scale[i];
      return bernoulli ? clamp(z, 0, 1) : clamp(z / model.reach, -1, 1);
    });
  }

  return { decode, show };
}

// What a column of a table can hold, as `Column.repair` in Python.
function repair(value, { low, high, integer }) {
  if (low === high) return low;
  if (integer) return clamp(Math.round(value), low, high);
  return low >= 0 ? Math.max(value, 0) : value;
}

function clamp(x, low, high) {
  return Math.min(high, Math.max(low, x));
}

// For Node; a page has no `module`.
if (typeof module !== "undefined") module.exports = { bytesOf, floatsOf, makeDecoder };
