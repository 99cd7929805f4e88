// The page: what is chosen, and how everything follows from it.
"use strict";

(() => {
  // Milliseconds of a frame for small pictures: few while something moves.
  const [BUDGET, BUDGET_MOVING] = [12, 3];
  const TABS = ["map", "style", "way", "gallery"];
  const model = JSON.parse($("model").textContent);
  const engine = makeModel(model);
  const painter = makePainter(model);
  const [, nV] = model.n_latents;
  const isImage = model.kind === "image";
  const noun = isImage ? "image" : "row";

  const state = {
    code: 0, // the class
    r: engine.prototypes[0], // its r, or a place between classes
    v: engine.vMean[0],
    origin: "typical", // where r and v come from
    input: null, // the row on the stage, and what the model reads in it
    basis: model.start.basis,
    axes: [...model.start.axes],
    tab: "map",
    map: "r",
    ends: null, // of the way
    time: 0, // on the way
  };

  const nR = model.n_latents[0];
  const fInv = rowsOf(floatsOf(model.rows.f_inv), nR);
  const styles = rowsOf(floatsOf(model.rows.v), nV);
  const examples = model.rows.classes.map((code, i) => ({ code, fInv: fInv[i], v: styles[i] }));

  // ------------------------------------------------------------ rows of the examples

  const size = isImage ? model.shape.reduce((a, b) => a * b, 1) : model.shift.length;
  const LEVELS = 4080; // as in `rows.py`
  const levels = model.rows.pixels ? rowsOf(integersOf(model.rows.pixels, 2), size) : null;
  const values = model.rows.values ? rowsOf(floatsOf(model.rows.values), size) : null;
  function rowOf(i) {
    if (levels) {
      const [low, high] = model.rows.range;
      return Float64Array.from(levels[i], (level) => low + ((high - low) * level) / LEVELS);
    }
    if (values) return Float64Array.from(values[i]);
    return engine.decode(engine.prototypes[examples[i].code], examples[i].v);
  }

  // ------------------------------------------------------------ small pictures, in idle time

  // Keys of what must be drawn anew. One that waits keeps its place, so that during a drag
  // every picture has its turn.
  const waiting = new Map();
  let idle = true;
  let lastChange = -Infinity; // when something moved
  function later(key, work) {
    waiting.set(key, work);
    if (idle) {
      idle = false;
      requestAnimationFrame(workOff);
    }
  }
  function workOff() {
    const start = performance.now();
    const budget = start - lastChange < 150 ? BUDGET_MOVING : BUDGET;
    for (const [key, work] of waiting) {
      waiting.delete(key);
      work();
      if (performance.now() - start > budget) break;
    }
    idle = waiting.size === 0;
    if (!idle) requestAnimationFrame(workOff);
  }

  // ------------------------------------------------------------ changes

  let pending = null; // names of what has changed since the last frame
  let reader = null; // gives the row to read in the next frame
  function schedule(...names) {
    lastChange = performance.now();
    if (!pending) {
      pending = new Set();
      requestAnimationFrame(drawAll);
    }
    names.forEach((name) => pending.add(name));
  }

  function change(changes) {
    Object.assign(state, changes);
    schedule(...("v" in changes || "r" in changes || "code" in changes ? ["recipe"] : []));
  }

  /** Read the input with the next frame, however often it changes before. */
  function readInput(row, origin) {
    reader = { row, origin };
    schedule("input");
  }

  function read({ row: getRow, origin }) {
    const row = getRow();
    const empty = origin === "empty" || !engine.canEncode;
    const reading = empty ? null : engine.encode(row);
    state.input = { row, reading, origin };
    if (!reading) return;
    Object.assign(state, {
      code: reading.code,
      r: engine.prototypes[reading.code],
      v: reading.v,
      origin: "input",
    });
    pending.add("recipe");
  }

  function drawAll() {
    if (!pending) return;
    if (reader) read(reader);
    reader = null;
    const changes = pending;
    pending = null;
    drawStage(changes);
    strip.draw(changes);
    const open = parts[state.tab];
    TABS.forEach((tab) => {
      $(`tab-${tab}`).setAttribute("aria-selected", tab === state.tab);
      $(`tab-${tab}`).tabIndex = tab === state.tab ? 0 : -1;
      $(`panel-${tab}`).hidden = tab !== state.tab;
    });
    open.forEach((part) => part.draw());
    rememberSoon();
  }

  function recipeText() {
    const label = model.classes[state.code];
    const texts = {
      input: `${label}, with the style of your ${noun}`,
      class: `the style of your ${noun}, as ${label}`,
      own: `${label}, in a style of your own`,
      typical: `${label}, in its typical style`,
      sample: `${label}, a new ${noun}`,
      style: `${label}, in the style of an example`,
      way: `on the way, ${Math.round(100 * state.time)}%`,
      place: `between the classes, nearest to ${label}`,
    };
    return texts[state.origin];
  }

  function drawStage(changes) {
    const made = engine.decode(state.r, state.v);
    if (isImage) painter.paint($("picture"), made);
    else input.drawMade(made);
    $("recipe").textContent = recipeText();
    $("picture").setAttribute("aria-label", `The model’s picture: ${recipeText()}`);
    if (!changes.has("input") || !isImage) return;
    const origins = { drawing: "Your drawing", example: "Your image", start: "Draw over it" };
    $("input-title").textContent = origins[state.input && state.input.origin] || "Draw here";
  }

  // ------------------------------------------------------------ verbs

  function showRow(row, origin) {
    input.show(row, origin === "start");
    readInput(() => row, origin);
  }

  /** Take an example as input, or only its style, as `transfer_style` in Python. */
  function takeExample(i, styleOnly = false) {
    const { code, v } = examples[i];
    if (styleOnly) return change({ v: engine.transfer(v, code, state.code), origin: "style" });
    const row = rowOf(i);
    showRow(row, "example");
    if (!engine.canEncode) change({ code, v, r: engine.prototypes[code], origin: "sample" });
  }

  function chooseClass(code) {
    const v = engine.transfer(state.v, state.code, code);
    const kept = { input: "class", class: "class" };
    change({ code, v, r: engine.prototypes[code], origin: kept[state.origin] || "own" });
  }

  const verbs = {
    typical: () => change({ v: engine.vMean[state.code], origin: "typical" }),
    surprise: () => change({ v: engine.sampleStyle(state.code), origin: "sample" }),
    back: () => state.input && readInput(() => state.input.row, state.input.origin),
  };
  for (const [id, verb] of Object.entries(verbs)) $(id).addEventListener("click", verb);

  let hushing = null;
  function say(text) {
    $("toast").textContent = text;
    $("toast").classList.add("shown");
    clearTimeout(hushing);
    hushing = setTimeout(() => $("toast").classList.remove("shown"), 3500);
  }

  // ------------------------------------------------------------ the address, and pictures to save

  let remembering = null;
  const hash = () => `#${stateToHash(state, model)}`;
  function rememberSoon() {
    clearTimeout(remembering);
    remembering = setTimeout(() => {
      try {
        history.replaceState(null, "", hash());
      } catch {
        // a page inside a notebook has no address of its own
      }
    }, 400);
  }

  $("share").addEventListener("click", async () => {
    const link = location.href.split("#")[0] + hash();
    try {
      history.replaceState(null, "", hash());
      await navigator.clipboard.writeText(link);
      say("The link to this view is copied.");
    } catch {
      say("The address bar has the link to this view.");
    }
  });
  $("export").addEventListener("click", () => {
    const link = element("a");
    link.download = "explore.png";
    link.href = makePoster(app).toDataURL("image/png");
    link.click();
    say("Saved as explore.png.");
  });

  // ------------------------------------------------------------ tabs, keys and help

  function openTab(tab) {
    change({ tab });
    schedule("tab");
  }
  TABS.forEach((tab, i) => {
    $(`tab-${tab}`).addEventListener("click", () => openTab(tab));
    $(`tab-${tab}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = TABS[(i + step + TABS.length) % TABS.length];
      openTab(next);
      $(`tab-${next}`).focus();
    });
  });
  const keys = {
    c: () => (isImage ? $("clear").click() : showRow(rowOf(0), "example")),
    s: verbs.surprise,
    p: () => {
      openTab("way");
      way.play();
    },
    "[": () => chooseClass((state.code + model.classes.length - 1) % model.classes.length),
    "]": () => chooseClass((state.code + 1) % model.classes.length),
    "?": () => $("help").showModal(),
  };
  TABS.forEach((tab, i) => (keys[i + 1] = () => openTab(tab)));
  addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("select, input:not([type=range])");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    if (keys[event.key]) keys[event.key]();
  });
  $("help-open").addEventListener("click", () => $("help").showModal());

  // ------------------------------------------------------------ start

  document.body.classList.add(model.kind);
  document.documentElement.style.setProperty(
    "--ratio", isImage ? model.shape[2] / model.shape[1] : 1
  );
  document.querySelectorAll(".noun").forEach((place) => {
    place.textContent = place.textContent.replace("image", noun);
  });
  const ruleTexts = {
    prototype: "A class is the more probable the nearer its prototype is.",
    posterior: "Class probabilities are those of the network q(y | x).",
    likelihood: "A class is the more probable the better it explains the input.",
  };
  $("help-rule").textContent =
    ruleTexts[model.rule] +
    (model.rule === model.asked_rule
      ? ""
      : " The estimator predicts by the likelihood, which this page does not compute for tables with categories or gaps.");
  $("help-frame").textContent = model.frame
    ? "A drawing is brought into the frame of the data: its size, its middle and its strokes."
    : "";
  $("help-frame").hidden = !model.frame;

  const bases = model.bases.map((basis) => ({
    ...basis,
    vectors: rowsOf(floatsOf(basis.vectors), nV),
  }));
  const app = {
    model, engine, state, examples, bases, noun, Noun: noun[0].toUpperCase() + noun.slice(1),
    ...painter, rowOf, later, change, readInput, takeExample, chooseClass, say,
  };
  app.coordinates = makeCoordinates(app);
  const input = isImage ? makeSketch(app) : makeTable(app);
  const strip = makeStrip(app);

  const first = examples[0];
  const other = examples.find(({ code }) => code !== first.code) || first;
  state.ends = [first, other].map(({ code, v }) => ({ code, v, r: engine.prototypes[code] }));
  const { inputRow, ...shared } = stateFromHash(location.hash, model);
  Object.assign(state, shared);

  const way = makeWay(app);
  const parts = {
    map: [makeMap(app)],
    style: [makeSliders(app), makePad(app)],
    way: [way],
    gallery: [makeGallery(app)],
  };
  schedule("input", "recipe");
  // the first impression: an example that is typical of its class
  const shownFirst = examples[Math.min(3, examples.length - 1)].code;
  const typicality = examples.map(({ code, fInv: f }) =>
    code === shownFirst ? -squaredDistance(f, engine.prototypes[code]) : -Infinity
  );
  const row = inputRow || rowOf(argmax(typicality));
  input.show(row, !inputRow);
  read({ row: () => row, origin: inputRow ? "drawing" : "start" });
  if (shared.v) {
    const code = shared.code ?? state.code;
    Object.assign(state, { origin: "own", r: engine.prototypes[code], ...shared });
    if (shared.r) state.origin = "place";
  }
  drawAll();

  new ResizeObserver(() => schedule("size")).observe($("map"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => schedule("scheme"));

  // To look at the state from the console, and from tests.
  window.explorePage = {
    state: () => ({
      ...state,
      r: Array.from(state.r),
      v: Array.from(state.v),
      label: model.classes[state.code],
      input: state.input && { ...state.input, row: Array.from(state.input.row) },
    }),
    values: () => Array.from(engine.decode(state.r, state.v)),
    settled: () => !pending && idle,
    hash,
    app,
    input,
  };
})();
