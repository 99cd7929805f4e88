// The model: from rows to classes and latents, and from latents to rows, by Python's formulas.
//
// A row has the user's units, and the order of a flat row in Python: channels last.
"use strict";

const LARGEST = 1e6; // as in `sk_equivae.fitted.rows`
const LOG_VARIANCE_RANGE = [-10, 4]; // as in `sk_equivae.model.distributions`

function clamp(x, low, high) {
  return Math.min(high, Math.max(low, x));
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Rows of equal size of a flat array. */
function rowsOf(values, size) {
  return Array.from({ length: values.length / size }, (_, i) =>
    values.subarray(i * size, (i + 1) * size)
  );
}

function lerp(a, b, t) {
  return Float32Array.from(a, (x, i) => (x === b[i] ? x : x + t * (b[i] - x)));
}

function softmax(logits) {
  const largest = Math.max(...logits);
  const p = logits.map((a) => Math.exp(a - largest));
  const total = p.reduce((a, b) => a + b, 0);
  return p.map((a) => a / total);
}

function logSumExp(values) {
  const largest = Math.max(...values);
  if (largest === -Infinity) return largest;
  return largest + Math.log(values.reduce((sum, a) => sum + Math.exp(a - largest), 0));
}

const argmax = (values) => values.reduce((best, a, i) => (a > values[best] ? i : best), 0);
const squaredDistance = (a, b) => a.reduce((sum, x, i) => sum + (x - b[i]) ** 2, 0);

const squaredNorm = (a) => a.reduce((sum, x) => sum + x * x, 0);

/** The u with L u = b, for a lower triangular matrix L in rows. */
function solveLower(lower, b) {
  const u = new Float64Array(b.length);
  for (let i = 0; i < b.length; i++) {
    let sum = b[i];
    for (let j = 0; j < i; j++) sum -= lower[i * b.length + j] * u[j];
    u[i] = sum / lower[i * b.length + i];
  }
  return u;
}

/** A draw from the standard normal distribution. */
function normal() {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}

/** What a numeric column can hold, as `Limits.repair` in Python. */
function repair(value, { low, high, integer }) {
  if (low === null) return NaN;
  if (low === high) return low;
  if (integer) return clamp(roundHalfToEven(value), low, high);
  return clamp(value, low >= 0 ? 0 : -Infinity, high <= 0 ? 0 : Infinity);
}

function roundHalfToEven(x) {
  const rounded = Math.round(x);
  return Math.abs(x % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

// ---------------------------------------------------------------- units

/** Between the user's rows and the rows of the networks, as `RowSpec` in Python. */
function makeUnits(model) {
  const { shift, scale, likelihood, layout, columns } = model;
  const nGroups = shift.length; // channels or features
  const standard = (value, i) => clamp((value - shift[i]) / scale[i], -LARGEST, LARGEST);

  /** A row of numbers, of categories as their positions, and of NaN; see `mixed.py`. */
  function normalizeMixed(row) {
    const { numeric, categorical, sizes, marked } = layout;
    const out = numeric.map((i) => standard(row[i], i));
    const marks = marked.map((place) => Number(Number.isNaN(out[place])));
    categorical.forEach((column, k) => {
      for (let i = 0; i < sizes[k]; i++) out.push(Number(row[column] === i));
    });
    return Float32Array.from([...out, ...marks], (a) => (Number.isNaN(a) ? 0 : a));
  }

  function normalize(row) {
    if (layout) return normalizeMixed(row);
    const out = new Float32Array(row.length);
    for (let i = 0; i < out.length; i++) {
      const value = standard(row[i], i % nGroups);
      out[i] = Number.isNaN(value) ? 0 : value; // the mean
    }
    return out;
  }

  function denormalizeMixed(x) {
    const row = new Float64Array(nGroups).fill(NaN);
    layout.numeric.forEach((column, i) => {
      row[column] = repair(x[i] * scale[column] + shift[column], columns[column]);
    });
    let start = layout.numeric.length;
    layout.categorical.forEach((column, k) => {
      row[column] = argmax(Array.from(x.subarray(start, start + layout.sizes[k])));
      start += layout.sizes[k];
    });
    return row;
  }

  /** The mean of p(x | r, v) from the output of the decoder. */
  function denormalize(x) {
    if (layout) return denormalizeMixed(x);
    const row = new Float64Array(x.length);
    for (let i = 0; i < x.length; i++) {
      const mean = likelihood === "bernoulli" ? sigmoid(x[i]) : x[i];
      const value = mean * scale[i % nGroups] + shift[i % nGroups];
      if (columns) row[i] = repair(value, columns[i]);
      else row[i] = model.bytes ? clamp(value, 0, 255) : value;
    }
    return row;
  }

  return { normalize, denormalize };
}

// ---------------------------------------------------------------- the model

/** The model that `model.py` describes. */
function makeModel(model) {
  const { rule, temperature, trained } = model;
  const [nR, nV] = model.n_latents;
  const networks = Object.fromEntries(
    Object.entries(model.networks).map(([name, network]) => [name, makeNetwork(network)])
  );
  const { normalize, denormalize } = makeUnits(model);
  const prototypes = rowsOf(floatsOf(model.prototypes), nR);
  const logPrior = floatsOf(model.log_prior);
  const logWeight = floatsOf(model.log_weight);
  const logScale = floatsOf(model.log_scale);
  const vMean = rowsOf(floatsOf(model.v_mean), nV);
  const vLower = rowsOf(floatsOf(model.v_lower), nV * nV); // L of each class, with L L' = covariance

  // -------------------------------------------------------------- classes

  /** log p(x | r, v) of a row of the networks, from the decoder's output. */
  function logLikelihood(x, output) {
    let sum = 0;
    for (let i = 0; i < x.length; i++) {
      if (model.likelihood === "bernoulli") {
        const a = output[i];
        sum += x[i] * a - Math.max(a, 0) - Math.log1p(Math.exp(-Math.abs(a)));
      } else {
        const z = (x[i] - output[i]) / Math.exp(logScale[0]);
        sum -= 0.5 * z * z + logScale[0] + 0.5 * Math.log(2 * Math.PI);
      }
    }
    return sum;
  }

  /** KL[q(v | r_y, x) || p(v)] of a mean and log-variances. */
  function divergence(mean, logVariance) {
    let kl = 0;
    for (let i = 0; i < nV; i++) {
      kl += 0.5 * (Math.exp(logVariance[i]) + mean[i] ** 2 - 1 - logVariance[i]);
    }
    return kl;
  }

  /** KL[q(v | r_y, x) || p(v|y)], where p(v|y) is the normal distribution of the class. */
  function divergenceWithin(mean, logVariance, code) {
    const lower = vLower[code];
    let sum = squaredNorm(fromClass(mean, code));
    for (let i = 0; i < nV; i++) {
      const deviation = new Float64Array(nV);
      deviation[i] = Math.exp(0.5 * logVariance[i]);
      sum += squaredNorm(solveLower(lower, deviation));
      sum += 2 * Math.log(lower[i * nV + i]) - logVariance[i] - 1;
    }
    return 0.5 * sum;
  }

  /** The bound on log p(x, y) at the mean of q(v | r_y, x) (Eq. 4), as `bound_by_class`. */
  function bound(x, h, code) {
    const posterior = networks.q_v(h, prototypes[code]);
    const mean = posterior.subarray(0, nV);
    const logVariance = posterior.subarray(nV, 2 * nV).map((a) => clamp(a, ...LOG_VARIANCE_RANGE));
    const weight = model.style_weight;
    const kl = weight === null
      ? divergence(mean, logVariance)
      : weight * divergenceWithin(mean, logVariance, code);
    return logLikelihood(x, networks.decoder(prototypes[code], mean)) - kl + logPrior[code];
  }

  /** Unnormalised log-probabilities of the classes, as `class_logits` in Python. */
  function logitsOf(x, h, fInv) {
    const byDistance = prototypes.map(
      (r, code) => (logWeight[code] - squaredDistance(fInv, r)) / model.prototype_temperature
    );
    if (rule === "prototype") return byDistance;
    const known = trained.filter((code) => code !== null);
    let logits;
    if (rule === "posterior") {
      const all = networks.q_y(x, fInv);
      logits = trained.map((code, k) => [code, all[k]]).filter(([code]) => code !== null);
      logits = logits.map(([, a]) => a);
    } else {
      logits = known.map((code) => bound(x, h, code));
    }
    logits = logits.map((a) => a / temperature);
    if (known.length === prototypes.length) return inOrder(known, logits);
    // classes added after training keep the probability that the prototypes give them
    const left = logSumExp(known.map((code) => byDistance[code])) - logSumExp(logits);
    known.forEach((code, k) => (byDistance[code] = logits[k] + left));
    return byDistance;
  }

  function inOrder(codes, values) {
    const out = [];
    codes.forEach((code, k) => (out[code] = values[k]));
    return out;
  }

  /** Class probabilities of a row, its class, f_inv(x), v at that class, and distances. */
  function encode(row) {
    const x = normalize(row);
    const h = networks.embed(x);
    const fInv = networks.f_inv(x);
    const probabilities = softmax(logitsOf(x, h, fInv));
    const code = argmax(probabilities);
    const v = networks.q_v(h, prototypes[code]).slice(0, nV);
    const distances = prototypes.map((r) => Math.sqrt(squaredDistance(fInv, r)));
    return { probabilities, code, fInv, v, distances };
  }

  /** The mean of p(x | r, v), in the user's units. */
  function decode(r, v) {
    return denormalize(networks.decoder(r, v));
  }

  // -------------------------------------------------------------- styles

  /** v of a class from u ~ N(0, I), as `to_class` in Python. */
  function toClass(u, code) {
    const lower = vLower[code];
    return Float32Array.from(vMean[code], (mean, i) => {
      let sum = mean;
      for (let j = 0; j <= i; j++) sum += lower[i * nV + j] * u[j];
      return sum;
    });
  }

  /** u of v, the inverse of `toClass`. */
  function fromClass(v, code) {
    return solveLower(vLower[code], Float64Array.from(v, (a, i) => a - vMean[code][i]));
  }

  /** v of one class in another, as `transfer_style` in Python. */
  function transfer(v, from, to) {
    return from === to ? v : toClass(fromClass(v, from), to);
  }

  /** A random v of a class, as `sample` in Python draws it. */
  function sampleStyle(code) {
    return toClass(Float64Array.from({ length: nV }, normal), code);
  }

  /** Mean and standard deviation of v within a class, along a direction of length 1. */
  function rangeAlong(direction, code) {
    const lower = vLower[code];
    let variance = 0;
    for (let j = 0; j < nV; j++) {
      let sum = 0;
      for (let i = j; i < nV; i++) sum += lower[i * nV + j] * direction[i];
      variance += sum * sum;
    }
    return { mean: dot(direction, vMean[code]), deviation: Math.sqrt(variance) };
  }

  return {
    canEncode: !model.no_encoder,
    prototypes,
    vMean,
    encode,
    decode,
    toClass,
    transfer,
    sampleStyle,
    rangeAlong,
    nearestClass: (r) => argmax(prototypes.map((p) => -squaredDistance(p, r))),
  };
}
