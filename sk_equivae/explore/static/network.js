// Networks in plain JavaScript: the steps that `layers.py` describes.
//
// A value is a Float32Array of an image, (height, width, channels), or of a vector; sums are
// taken in double precision. Tests compare every network with its original in Python.
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

const ALPHABET = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter(
  (letter) => !"\"&'<>\\".includes(letter)
);
const DIGIT = new Uint8Array(128);
ALPHABET.forEach((letter, i) => (DIGIT[letter.charCodeAt(0)] = i));

/** Integers from 0 of a text of digits; see `packing.py`. */
function integersOf(text, nDigits) {
  const out = new Int32Array(text.length / nDigits);
  for (let i = 0, at = 0; i < out.length; i++) {
    let value = 0;
    for (let k = 0; k < nDigits; k++) value = value * ALPHABET.length + DIGIT[text.charCodeAt(at++)];
    out[i] = value;
  }
  return out;
}

/** Weights of shape (taps, outputs, inputs), which have one scale per output. */
function unpackWeights({ digits, n_digits: nDigits, scale: packedScale }, nTaps) {
  const scale = floatsOf(packedScale);
  const half = Math.floor((ALPHABET.length ** nDigits - 1) / 2);
  const integers = integersOf(digits, nDigits);
  const out = new Float32Array(integers.length);
  const nIn = out.length / (nTaps * scale.length);
  for (let i = 0; i < out.length; i++) {
    out[i] = (integers[i] - half) * scale[Math.floor(i / nIn) % scale.length];
  }
  return out;
}

// ---------------------------------------------------------------- steps with weights

/**
 * Add to `sums` the products of rows of weights, which start at `w`, with the `n` values of x from
 * `from` on. Four rows at a time: sums that do not wait for each other are three times as fast.
 */
function addProducts(sums, weight, w, x, from, n) {
  const end = from + n;
  let o = 0;
  for (; o + 3 < sums.length; o += 4, w += 4 * n) {
    let a = 0, b = 0, c = 0, d = 0;
    for (let i = from, k = w; i < end; i++, k++) {
      const value = x[i];
      a += weight[k] * value;
      b += weight[k + n] * value;
      c += weight[k + 2 * n] * value;
      d += weight[k + 3 * n] * value;
    }
    sums[o] += a;
    sums[o + 1] += b;
    sums[o + 2] += c;
    sums[o + 3] += d;
  }
  for (; o < sums.length; o++) {
    let sum = 0;
    for (let i = from; i < end; i++) sum += weight[w++] * x[i];
    sums[o] += sum;
  }
}

function makeLinear(step) {
  const weight = unpackWeights(step.weight, 1);
  const bias = floatsOf(step.bias);
  return (x) => {
    const sums = Float64Array.from(bias);
    addProducts(sums, weight, 0, x, 0, x.length);
    return Float32Array.from(sums);
  };
}

/** Along one axis, for each output: the taps of the kernel that fall on an input, and that input. */
function tapsOf(step, axis) {
  const { kernel, stride, padding, in_size: inSize, out_size: outSize } = step;
  return Array.from({ length: outSize[axis] }, (_, at) => {
    const pairs = [];
    for (let k = 0; k < kernel[axis]; k++) {
      const from =
        step.op === "upconv"
          ? (at + padding[axis] - k) / stride[axis]
          : at * stride[axis] + k - padding[axis];
      if (Number.isInteger(from) && from >= 0 && from < inSize[axis]) pairs.push([k, from]);
    }
    return pairs;
  });
}

/**
 * A convolution or a transposed one. It goes by outputs: on small grids most of a kernel falls
 * outside of the image, and costs nothing this way.
 */
function makeConvolution(step) {
  const { kernel, in_size: inSize, out_size: outSize, groups } = step;
  const weight = unpackWeights(step.weight, kernel[0] * kernel[1]);
  const bias = floatsOf(step.bias);
  const nOut = bias.length;
  const nIn = weight.length / (kernel[0] * kernel[1] * nOut); // of a group
  const nOfGroup = nOut / groups;
  const vertical = tapsOf(step, 0);
  const horizontal = tapsOf(step, 1);
  const sums = new Float64Array(nOut);
  const sumsOfGroups = Array.from({ length: groups }, (_, group) =>
    sums.subarray(group * nOfGroup, (group + 1) * nOfGroup)
  );

  return (x) => {
    const out = new Float32Array(outSize[0] * outSize[1] * nOut);
    let at = 0;
    for (const rows of vertical) {
      for (const columns of horizontal) {
        sums.set(bias);
        for (const [ky, row] of rows) {
          for (const [kx, column] of columns) {
            const from = (row * inSize[1] + column) * nIn * groups;
            const w = (ky * kernel[1] + kx) * nOut * nIn;
            for (let group = 0; group < groups; group++) {
              const [ofX, ofWeight] = [from + group * nIn, w + group * nOfGroup * nIn];
              addProducts(sumsOfGroups[group], weight, ofWeight, x, ofX, nIn);
            }
          }
        }
        out.set(sums, at);
        at += nOut;
      }
    }
    return out;
  };
}

function makeAffine(step) {
  const factor = floatsOf(step.factor);
  const shift = floatsOf(step.shift);
  return (x) => x.map((a, i) => a * factor[i % factor.length] + shift[i % factor.length]);
}

// ---------------------------------------------------------------- steps without weights

/** The mean or the largest value of each window. */
function makePool({ max, rows, columns, in_width: width, channels }) {
  return (x) => {
    const out = new Float32Array(rows.length * columns.length * channels);
    let at = 0;
    for (const [top, bottom] of rows) {
      for (const [left, right] of columns) {
        for (let c = 0; c < channels; c++) {
          let value = max ? -Infinity : 0;
          for (let row = top; row < bottom; row++) {
            for (let column = left; column < right; column++) {
              const a = x[(row * width + column) * channels + c];
              value = max ? Math.max(value, a) : value + a;
            }
          }
          out[at++] = max ? value : value / ((bottom - top) * (right - left));
        }
      }
    }
    return out;
  };
}

/** An image enlarged by repeating pixels; `rows` and `columns` say where each comes from. */
function makeNearest({ rows, columns, in_width: width, channels }) {
  return (x) => {
    const out = new Float32Array(rows.length * columns.length * channels);
    let at = 0;
    for (const row of rows) {
      for (const column of columns) {
        const from = (row * width + column) * channels;
        for (let c = 0; c < channels; c++) out[at++] = x[from + c];
      }
    }
    return out;
  };
}

/** From channels last to channels first; `nChannels` is the number of channels of x. */
function channelsFirst(x, nChannels) {
  const size = x.length / nChannels;
  const out = new x.constructor(x.length);
  for (let i = 0; i < size; i++) {
    for (let c = 0; c < nChannels; c++) out[c * size + i] = x[i * nChannels + c];
  }
  return out;
}

/** From channels first to channels last. */
function channelsLast(x, nChannels) {
  return channelsFirst(x, x.length / nChannels);
}

/** The error function, to 1.2e-7 (Numerical Recipes). */
function erf(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const terms = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806];
  terms.push(0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277);
  const sum = terms.reduceRight((total, term) => total * t + term, 0);
  const value = 1 - t * Math.exp(-x * x + sum);
  return x < 0 ? -value : value;
}

const sigmoid = (a) => 1 / (1 + Math.exp(-a));
const ELEMENTWISE = {
  same: (a) => a,
  relu: (a) => (a > 0 ? a : 0),
  sigmoid,
  tanh: Math.tanh,
  silu: (a) => a * sigmoid(a),
  gelu: (a) => 0.5 * a * (1 + erf(a / Math.SQRT2)),
};

function concat(...parts) {
  const out = new Float32Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function prepareStep(step) {
  if (step.op === "linear") return makeLinear(step);
  if (step.op === "conv" || step.op === "upconv") return makeConvolution(step);
  if (step.op === "affine") return makeAffine(step);
  if (step.op === "pool") return makePool(step);
  if (step.op === "nearest") return makeNearest(step);
  if (step.op === "flatten") return (x) => channelsFirst(x, step.channels);
  if (step.op === "unflatten") return (x) => channelsLast(x, step.channels);
  if (step.op === "add") return (x, y) => x.map((a, i) => a + y[i]);
  if (step.op === "concat") return concat;
  const each = ELEMENTWISE[step.op];
  return (x) => {
    const out = new Float32Array(x.length);
    for (let i = 0; i < x.length; i++) out[i] = each(x[i]);
    return out;
  };
}

/** A network as `network.py` describes it, as a function of its inputs. */
function makeNetwork({ n_inputs: nInputs, steps, output }) {
  const prepared = steps.map((step) => [prepareStep(step), step.from]);
  return (...inputs) => {
    const values = inputs.slice(0, nInputs);
    for (const [run, from] of prepared) values.push(run(...from.map((i) => values[i])));
    return values[output];
  };
}
