// The page: what is chosen, what is drawn, and the controls that lead from one to the other.
"use strict";

(() => {
  const EXTENT = 3; // the pad and the sliders go three standard deviations of v each way
  const MAP = 7; // pictures along a side of the pad
  const BUDGET = 12; // milliseconds of a frame for the small pictures

  const $ = (id) => document.getElementById(id);
  const model = JSON.parse($("model").textContent);
  const decoder = makeDecoder(model);
  const isImage = model.kind === "image";
  const noun = isImage ? "image" : "row";
  const [nR, nV] = model.n_latents;

  const rowsOf = (values, size, count) =>
    Array.from({ length: count }, (_, i) => values.subarray(i * size, (i + 1) * size));
  const prototypes = rowsOf(floatsOf(model.prototypes), nR, model.classes.length);
  const styles = rowsOf(floatsOf(model.styles.v), nV, model.styles.classes.length).map((v, i) => ({
    v,
    code: model.styles.classes[i],
  }));
  const bases = model.bases.map((basis) => ({
    ...basis,
    vectors: rowsOf(floatsOf(basis.vectors), nV, nV),
  }));

  const state = {
    code: 0,
    v: new Float32Array(nV),
    style: null, // the place of the row that v came from, if it is as it was there
    basis: model.start.basis,
    axes: [...model.start.axes],
  };

  // ------------------------------------------------------------ v and its directions

  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const directions = () => bases[state.basis].vectors;
  const coordinate = (k, v = state.v) => dot(directions()[k], v);

  /** v with its coordinates along some directions set to values; the others stay. */
  function moved(v, changes) {
    const out = Float64Array.from(v);
    for (const [k, value] of changes) {
      const direction = directions()[k];
      const step = value - dot(direction, out);
      for (let i = 0; i < nV; i++) out[i] += step * direction[i];
    }
    return Float32Array.from(out);
  }

  // ------------------------------------------------------------ drawing

  const { paint, drawBars } = makePainter(model, decoder, $("bars"));
  const shownAt = (code, v) => decoder.show(decoder.decode(prototypes[code], v));

  // ------------------------------------------------------------ small pictures, in idle time

  // Keys of what must be drawn anew. One that waits keeps its place, so that during a drag
  // every picture has its turn.
  const waiting = new Map();
  let idle = true;
  function later(key, work) {
    waiting.set(key, work);
    if (idle) {
      idle = false;
      requestAnimationFrame(workOff);
    }
  }

  function workOff() {
    const start = performance.now();
    for (const [key, work] of waiting) {
      waiting.delete(key);
      work();
      if (performance.now() - start > BUDGET) break;
    }
    idle = waiting.size === 0;
    if (!idle) requestAnimationFrame(workOff);
  }

  const classTiles = [];
  function drawClasses() {
    classTiles.forEach(({ canvas }, code) =>
      later(`class ${code}`, () => paint(canvas, shownAt(code, state.v)))
    );
  }

  const spare = document.createElement("canvas");
  function drawMap() {
    if (!isImage) return;
    const [, height, width] = model.shape;
    const side = Math.max(height, width);
    const cell = side + 2 * Math.max(1, Math.round(side / 28)); // a gap, the same on all sides
    const nUp = state.axes.length > 1 ? MAP : 1;
    const nAcross = nUp > 1 ? MAP : 4;
    const map = $("map");
    if (map.width !== nAcross * cell) {
      map.width = nAcross * cell;
      map.height = nUp * cell;
    }
    const context = map.getContext("2d");
    const centre = (i, n) => EXTENT * ((2 * i + 1) / n - 1);
    for (let row = 0; row < nUp; row++) {
      for (let column = 0; column < nAcross; column++) {
        later(`map ${row} ${column}`, () => {
          const at = [[state.axes[0], centre(column, nAcross)]];
          if (nUp > 1) at.push([state.axes[1], -centre(row, nUp)]);
          paint(spare, shownAt(state.code, moved(state.v, at)));
          const x = column * cell + ((cell - width) >> 1);
          context.drawImage(spare, x, row * cell + ((cell - height) >> 1));
        });
      }
    }
  }

  // ------------------------------------------------------------ what there is to see

  const signed = (x) => (x < 0 ? "−" : "") + Math.abs(x).toFixed(2);

  function styleText() {
    if (state.style !== null) {
      return `of ${noun} #${state.style + 1}, a ${model.classes[styles[state.style].code]}`;
    }
    if (state.v.every((x) => x === 0)) return "typical (v = 0)";
    return "of your own";
  }

  function drawState() {
    const values = decoder.decode(prototypes[state.code], state.v);
    if (isImage) paint($("picture"), decoder.show(values));
    else drawBars(values);
    const label = model.classes[state.code];
    $("class-now").textContent = label;
    $("style-now").textContent = styleText();
    $("picture").setAttribute("aria-label", `Drawn: class ${label}, style ${styleText()}`);

    const names = bases[state.basis].names;
    const at = state.axes.map((k) => coordinate(k));
    const place = (x) => `${50 + (50 * clamp(x, -EXTENT, EXTENT)) / EXTENT}%`;
    $("handle").style.left = place(at[0]);
    $("handle").style.top = place(-(at[1] || 0));
    const text = state.axes.map((k, i) => `${names[k]} ${signed(at[i])}`).join(", ");
    $("pad").setAttribute("aria-valuenow", clamp(at[0], -EXTENT, EXTENT).toFixed(2));
    $("pad").setAttribute("aria-valuetext", text);
    $("pad-note").textContent = `Now at ${text}. ${padHelp}`;
    sliders.forEach(({ input, output }, k) => {
      input.value = coordinate(k);
      output.textContent = signed(coordinate(k));
    });
    classTiles.forEach(({ tile }, i) => tile.setAttribute("aria-pressed", i === state.code));
    styleTiles.forEach(({ tile }, i) => tile.setAttribute("aria-pressed", i === state.style));
  }

  let drawn = true;
  /** Change the state; the picture follows with the next frame, the small ones after it. */
  function change(changes, mapToo = true) {
    Object.assign(state, changes);
    if (drawn) {
      drawn = false;
      requestAnimationFrame(() => {
        drawn = true;
        drawState();
      });
    }
    if (changes.v) drawClasses();
    if (mapToo) drawMap();
  }

  // ------------------------------------------------------------ controls

  function makeTile(parent, text, hint, onClick) {
    const tile = element("button", "tile");
    tile.type = "button";
    tile.title = hint;
    const canvas = element("canvas");
    canvas.setAttribute("aria-hidden", "true");
    tile.append(canvas, text);
    tile.addEventListener("click", onClick);
    parent.append(tile);
    return { tile, canvas };
  }

  const styleTiles = [];
  function take(place) {
    const what = document.querySelector("input[name=take]:checked").value;
    const { v, code } = styles[place];
    const changes = {};
    if (what !== "style") changes.code = code;
    if (what !== "class") Object.assign(changes, { v: Float32Array.from(v), style: place });
    change(changes);
  }

  function drawStyles() {
    const bytes = isImage && model.styles.rows ? bytesOf(model.styles.rows) : null;
    const floats = !isImage && model.styles.rows ? floatsOf(model.styles.rows) : null;
    const drawn = isImage ? [model.drawn_channels, ...model.shape.slice(1)] : model.shape;
    const size = drawn.reduce((a, b) => a * b, 1);
    styleTiles.forEach(({ canvas }, i) => {
      const part = [i * size, (i + 1) * size];
      if (bytes) paint(canvas, Float32Array.from(bytes.subarray(...part), (x) => x / 255));
      else if (floats) paint(canvas, decoder.show(floats.subarray(...part)));
      else paint(canvas, shownAt(styles[i].code, styles[i].v));
    });
  }

  let sliders = [];
  function makeDirections() {
    const { names, share, measure } = bases[state.basis];
    const percent = (k) => `${(100 * share[k]).toFixed(share[k] < 0.0995 ? 1 : 0)}%`;
    state.axes.forEach((chosen, i) => {
      const options = names.map((name, k) => {
        const option = element("option", "", `${name} · ${percent(k)}`);
        option.value = k;
        option.selected = k === chosen;
        return option;
      });
      $(`axis-${i}`).replaceChildren(...options);
    });
    sliders = names.map((name, k) => {
      const label = element("label", "", `${name} · ${percent(k)}`);
      const input = element("input");
      Object.assign(input, { type: "range", min: -EXTENT, max: EXTENT, step: 0.01 });
      input.addEventListener("input", () =>
        change({ v: moved(state.v, [[k, Number(input.value)]]), style: null })
      );
      const output = element("output");
      label.append(input, output);
      return { label, input, output };
    });
    $("sliders").replaceChildren(...sliders.map(({ label }) => label));
    $("share-note").textContent =
      bases[state.basis].name === "principal"
        ? `Directions along which the given ${noun}s differ, each with its part ${measure} ` +
          "among them."
        : `Dimensions of v, each with its part ${measure} that a step of it makes in what is ` +
          "drawn. Some may do nothing: the model had no use for them.";
    $("dots").replaceChildren();
    if (!isImage) {
      for (const { v } of styles) {
        const dotElement = element("i");
        const at = state.axes.map((k) => clamp(coordinate(k, v) / EXTENT, -1, 1));
        dotElement.style.left = `${50 + 50 * at[0]}%`;
        dotElement.style.top = `${50 - 50 * (at[1] || 0)}%`;
        $("dots").append(dotElement);
      }
    }
  }

  function dragTo(event) {
    const box = $("pad").getBoundingClientRect();
    const at = [
      EXTENT * ((2 * (event.clientX - box.left)) / box.width - 1),
      EXTENT * (1 - (2 * (event.clientY - box.top)) / box.height),
    ].map((x) => clamp(x, -EXTENT, EXTENT));
    // the map shows all of the plane already
    change({ v: moved(state.v, state.axes.map((k, i) => [k, at[i]])), style: null }, false);
  }

  function onKey(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] };
    let changes;
    if (event.key === "Home") {
      changes = state.axes.map((k) => [k, 0]);
    } else if (steps[event.key]) {
      const [i, sign] = steps[event.key];
      if (i >= state.axes.length) return;
      const k = state.axes[i];
      const step = sign * (event.shiftKey ? 0.5 : 0.1);
      changes = [[k, clamp(coordinate(k) + step, -EXTENT, EXTENT)]];
    } else {
      return;
    }
    event.preventDefault();
    change({ v: moved(state.v, changes), style: null }, false);
  }

  function normal() {
    return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  }

  function connect() {
    const pad = $("pad");
    let dragging = null;
    pad.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      dragging = event.pointerId;
      pad.setPointerCapture(event.pointerId);
      dragTo(event);
    });
    pad.addEventListener("pointermove", (event) => {
      if (event.pointerId === dragging) dragTo(event);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      pad.addEventListener(end, () => (dragging = null));
    }
    pad.addEventListener("keydown", onKey);
    $("reset").addEventListener("click", () => change({ v: new Float32Array(nV), style: null }));
    $("surprise").addEventListener("click", () =>
      change({ v: Float32Array.from({ length: nV }, normal), style: null })
    );
    $("basis").addEventListener("change", (event) => {
      state.basis = Number(event.target.value);
      state.axes = nV > 1 ? [0, 1] : [0];
      makeDirections();
      change({});
    });
    state.axes.forEach((_, i) =>
      $(`axis-${i}`).addEventListener("change", (event) => {
        const chosen = Number(event.target.value);
        // the same direction both ways would be none: the two change places
        if (state.axes[1 - i] === chosen) state.axes[1 - i] = state.axes[i];
        state.axes[i] = chosen;
        makeDirections();
        change({});
      })
    );
    // small profiles are painted in the colours of the scheme
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      drawClasses();
      drawStyles();
    });
  }

  // ------------------------------------------------------------ start

  const padHelp = isImage
    ? "The pale pictures show what is where; everything else about the style stays."
    : `Dots are the ${noun}s below.`;
  document.body.classList.add(model.kind);
  document.querySelectorAll(".nouns").forEach((place) => (place.textContent = `${noun}s`));
  $("n-directions").textContent = nV;
  $("pad").classList.toggle("line", nV === 1);
  $("up-choice").hidden = nV === 1;
  $("basis-choice").hidden = bases.length === 1;
  bases.forEach(({ name }, i) => {
    const text = name === "principal" ? `of most variety in the ${noun}s` : "single dimensions of v";
    const option = element("option", "", text);
    option.value = i;
    option.selected = i === state.basis;
    $("basis").append(option);
  });
  if (!isImage) {
    $("result-title").textContent = "The model makes up a row";
    $("drawing-note").textContent =
      model.likelihood === "bernoulli"
        ? "A bar is full where a feature is as high as it can be."
        : `Bars start at the mean of a feature and are full at ${model.reach} standard deviations.`;
  }
  $("taking-note").textContent = model.styles.given
    ? `These ${noun}s were given; the model draws from what it understood of them.`
    : `These ${noun}s were made up by the model.`;
  model.classes.forEach((label, code) =>
    classTiles.push(
      makeTile($("classes"), element("div", "", label), `class ${label}`, () => change({ code }))
    )
  );
  styles.forEach(({ code }, i) => {
    const label = model.classes[code];
    const hint = `${noun} #${i + 1}, class ${label}`;
    const text = element("div", "", `a ${label}`);
    text.prepend(element("span", "note", `#${i + 1} `));
    styleTiles.push(makeTile($("styles"), text, hint, () => take(i)));
  });
  connect();
  makeDirections();
  drawStyles();
  drawState();
  drawClasses();
  drawMap();

  // To look at what is chosen from the console, and from tests.
  window.explorePage = {
    state: () => ({ ...state, v: Array.from(state.v), label: model.classes[state.code] }),
    values: () => Array.from(decoder.decode(prototypes[state.code], state.v)),
    settled: () => drawn && idle,
  };
})();
