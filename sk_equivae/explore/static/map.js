// The map: examples in the principal plane of r or of v, and the place of the moment.
"use strict";

function makeMap(app) {
  const { model, engine, state } = app;
  const nClasses = model.classes.length;
  const map = $("map");
  const canvas = $("map-points");
  const NEAR = 14; // pixels to an example that is meant
  const MAX_STRETCH = 1.6;
  const planes = Object.fromEntries(
    Object.entries(model.maps).map(([name, { mean, directions }]) => {
      const centre = floatsOf(mean);
      return [name, { centre, directions: rowsOf(floatsOf(directions), centre.length) }];
    })
  );

  /** Coordinates of a vector in a plane; the second is 0 if there is only one dimension. */
  function project(z, name = state.map) {
    const { centre, directions } = planes[name];
    const at = directions.map((d) => dot(d, z) - dot(d, centre));
    return [at[0], at.length > 1 ? at[1] : 0];
  }

  const points = Object.fromEntries(
    ["r", "v"].map((name) => [name, app.examples.map((e) => project(name === "r" ? e.fInv : e.v, name))])
  );
  const prototypes = engine.prototypes.map((r) => project(r, "r"));

  // -------------------------------------------------------------- from the plane to pixels

  let view = null;
  function makeView() {
    const box = map.getBoundingClientRect();
    const shown = [...points[state.map], ...(state.map === "r" ? prototypes : [])];
    const span = [0, 1].map((axis) => {
      const values = shown.map((p) => p[axis]).sort((a, b) => a - b);
      const cut = Math.floor(values.length / 200); // a few far away do not shrink the rest
      return [values[cut], values[values.length - 1 - cut]];
    });
    const margin = Math.min(38, box.width / 10);
    const fitting = [box.width, box.height].map((size, axis) =>
      clamp((size - 2 * margin) / (span[axis][1] - span[axis][0]), 1e-6, 1e6)
    );
    // an axis may be stretched a little to fill the map
    const scale = fitting.map((a) => Math.min(a, MAX_STRETCH * Math.min(...fitting)));
    view = { box, scale, middle: span.map(([a, b]) => (a + b) / 2) };
  }
  const toPixels = ([x, y]) => [
    view.box.width / 2 + view.scale[0] * (x - view.middle[0]),
    view.box.height / 2 - view.scale[1] * (y - view.middle[1]),
  ];
  const fromPixels = (x, y) => [
    view.middle[0] + (x - view.box.width / 2) / view.scale[0],
    view.middle[1] - (y - view.box.height / 2) / view.scale[1],
  ];

  // -------------------------------------------------------------- drawing

  const spare = element("canvas");
  function drawPoints() {
    makeView();
    const ratio = devicePixelRatio || 1;
    const { width, height } = view.box;
    if (!width || !height) return;
    resize(canvas, Math.round(width * ratio), Math.round(height * ratio));
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (state.map === "v") drawEllipse(context);
    const taken = [];
    const size = clamp(Math.min(width, height) / 15, 18, 34);
    points[state.map].forEach((point, i) => {
      const [x, y] = toPixels(point);
      const free = taken.every(([a, b]) => Math.max(Math.abs(a - x), Math.abs(b - y)) > 0.8 * size);
      const color = classColor(app.examples[i].code, nClasses);
      if (free && model.kind === "image") {
        taken.push([x, y]);
        drawThumbnail(context, i, x, y, size, color);
      } else {
        context.fillStyle = color;
        context.globalAlpha = model.kind === "image" ? 0.4 : 0.75;
        context.beginPath();
        context.arc(x, y, model.kind === "image" ? 2 : 4, 0, 2 * Math.PI);
        context.fill();
        context.globalAlpha = 1;
      }
    });
    if (state.map === "r") prototypes.forEach((point, code) => drawLabel(context, point, code));
  }

  function drawThumbnail(context, i, x, y, size, color) {
    app.paintInk(spare, app.rowOf(i), color);
    context.imageSmoothingEnabled = spare.width > size;
    context.drawImage(spare, x - size / 2, y - size / 2, size, size);
    if (model.frame) return;
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.strokeRect(x - size / 2, y - size / 2, size, size);
  }

  function drawLabel(context, point, code) {
    const [x, y] = toPixels(point);
    const tall = view.box.width < 420 ? 16 : 22;
    context.font = `600 ${0.6 * tall}px system-ui, sans-serif`;
    const width = Math.max(tall, context.measureText(model.classes[code]).width + 0.5 * tall);
    context.fillStyle = classColor(code, nClasses);
    context.strokeStyle = cssColor("--card");
    context.lineWidth = 2;
    context.beginPath();
    context.roundRect(x - width / 2, y - tall / 2, width, tall, tall / 2);
    context.fill();
    context.stroke();
    context.fillStyle = cssColor("--card");
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(model.classes[code], x, y + 0.5);
  }

  /** Two standard deviations of v within the class of the moment. */
  function drawEllipse(context) {
    const mean = project(engine.vMean[state.code], "v");
    const [first, second] = planes.v.directions;
    const variance = (way) => engine.rangeAlong(way, state.code).deviation ** 2;
    const a = variance(first);
    const b = second ? variance(second) : 0;
    const diagonal = second ? variance(first.map((x, i) => (x + second[i]) * Math.SQRT1_2)) : 0;
    const covariance = second ? diagonal - (a + b) / 2 : 0;
    const [across, along] = [Math.sqrt(a), covariance / Math.sqrt(a)];
    const rest = Math.sqrt(Math.max(0, b - along ** 2));
    context.beginPath();
    for (let step = 0; step <= 72; step++) {
      const [x, y] = [Math.cos((Math.PI * step) / 36), Math.sin((Math.PI * step) / 36)];
      const at = [mean[0] + 2 * across * x, mean[1] + 2 * (along * x + rest * y)];
      context[step ? "lineTo" : "moveTo"](...toPixels(at));
    }
    context.strokeStyle = context.fillStyle = classColor(state.code, nClasses);
    context.globalAlpha = 0.12;
    context.fill();
    context.globalAlpha = 0.8;
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Where the input, or what was made of it, is on the map. */
  function currentPlace() {
    if (state.map === "v") return project(state.v);
    const reading = state.input && state.input.reading;
    return project(state.origin === "input" && reading ? reading.fInv : state.r);
  }

  function drawPlace() {
    const place = $("map-place");
    place.hidden = !view || !view.box.width;
    if (place.hidden) return;
    const [x, y] = toPixels(currentPlace());
    place.style.left = `${clamp(x, 6, view.box.width - 6)}px`;
    place.style.top = `${clamp(y, 6, view.box.height - 6)}px`;
    map.setAttribute("aria-valuenow", currentPlace()[0].toFixed(2));
    map.setAttribute(
      "aria-valuetext",
      `${currentPlace().map((a) => a.toFixed(2)).join(", ")}; nearest is an example of class ` +
        model.classes[app.examples[nearestTo(x, y).i].code]
    );
  }

  // -------------------------------------------------------------- pointer and keys

  function nearestTo(x, y) {
    let best = { i: 0, distance: Infinity };
    points[state.map].forEach((point, i) => {
      const [px, py] = toPixels(point);
      const distance = Math.hypot(px - x, py - y);
      if (distance < best.distance) best = { i, distance };
    });
    return best;
  }

  /** Go to a place of the plane: between prototypes, or to a style. */
  function goTo(at) {
    if (state.map === "v") {
      const now = project(state.v);
      const v = Float32Array.from(state.v, (x, i) =>
        planes.v.directions.reduce((sum, d, axis) => sum + (at[axis] - now[axis]) * d[i], x)
      );
      app.change({ v, origin: "own" });
      return;
    }
    // prototypes count by their distance on the map; close to one, it alone
    const squares = prototypes.map((p) => squaredDistance(p, at));
    const width = Math.min(...prototypes.flatMap((p, i) =>
      prototypes.slice(i + 1).map((q) => squaredDistance(p, q)).filter((a) => a > 0))) / 4 || 1;
    const weights = softmax(squares.map((a) => -a / (2 * width)));
    const r = new Float32Array(model.n_latents[0]);
    weights.forEach((w, code) => engine.prototypes[code].forEach((x, i) => (r[i] += w * x)));
    const code = argmax(weights);
    app.change({ r, v: engine.transfer(state.v, state.code, code), code, origin: "place" });
  }

  const offset = (event) => {
    const box = map.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  let dragging = false;
  map.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    map.setPointerCapture(event.pointerId);
    const { i, distance } = nearestTo(...offset(event));
    if (distance < NEAR) app.takeExample(i);
    else {
      dragging = true;
      goTo(fromPixels(...offset(event)));
    }
  });
  map.addEventListener("pointermove", (event) => {
    if (dragging) goTo(fromPixels(...offset(event)));
    else showTip(nearestTo(...offset(event)));
  });
  for (const end of ["pointerup", "pointercancel"]) map.addEventListener(end, () => (dragging = false));
  map.addEventListener("pointerleave", () => ($("map-tip").hidden = true));
  map.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
    if (event.key === "Enter") app.takeExample(nearestTo(...toPixels(currentPlace())).i);
    else if (steps[event.key]) {
      const step = steps[event.key];
      goTo(currentPlace().map((a, axis) => a + (12 * step[axis]) / view.scale[axis]));
    } else return;
    event.preventDefault();
  });

  function showTip({ i, distance }) {
    const tip = $("map-tip");
    tip.hidden = distance > NEAR;
    if (tip.hidden) return;
    const [x, y] = toPixels(points[state.map][i]);
    app.paint(tip.firstChild, app.rowOf(i));
    tip.lastChild.textContent = model.classes[app.examples[i].code];
    tip.style.left = `${clamp(x, 50, view.box.width - 50)}px`;
    tip.style.top = `${y > view.box.height / 2 ? y - 118 : y + 22}px`;
  }

  for (const input of document.querySelectorAll("input[name=map]")) {
    input.addEventListener("change", () => app.change({ map: input.value }));
  }

  let drawnFor = null;
  return {
    draw() {
      const box = map.getBoundingClientRect();
      const ofClass = state.map === "v" ? state.code : "";
      const key = [box.width, box.height, state.map, ofClass, isDark()].join();
      if (key !== drawnFor) {
        drawPoints();
        drawnFor = key;
        document.querySelector(`input[name=map][value=${state.map}]`).checked = true;
        $("map-note").textContent =
          state.map === "r"
            ? "Where classes lie. Click an example, or between them."
            : "How styles differ. The ellipse holds most of the class.";
      }
      drawPlace();
    },
  };
}
