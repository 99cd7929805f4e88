// The drawing area: strokes, images that are dropped or opened, and the row they make.
//
// The canvas holds the data's own shades, `k` pixels for one of the model; where the page shows
// grey images in negative, the style sheet inverts it.
"use strict";

function makeSketch(app) {
  const { model } = app;
  const [, height, width] = model.shape;
  const k = Math.max(2, Math.round(280 / Math.max(height, width)));
  const { frame, drawn_channels: nDrawn } = model;
  const ground = frame ? frame.ground : 1;
  const shade = (level) => `rgb(${255 * level} ${255 * level} ${255 * level})`;
  // Width of the pen in pixels of the model. What one sees of it is thinner where a pixel is large.
  const stroke = frame ? frame.stroke : Math.max(1, 0.07 * Math.max(width, height));
  const visible = k * Math.min(stroke, 0.085 * Math.max(width, height));

  const canvas = $("sketch");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const spare = element("canvas");
  const spareContext = spare.getContext("2d", { willReadFrequently: true });
  for (const each of [canvas, spare]) resize(each, width * k, height * k);
  canvas.classList.toggle("inverted", model.invert);
  let isExample = true; // the first stroke begins anew
  let drawing = false; // during a stroke
  // The strokes since the canvas was cleared, which can be drawn anew in another size. Null if
  // there is more on the canvas.
  let strokes = null;

  function wipe(on) {
    on.fillStyle = shade(ground);
    on.fillRect(0, 0, canvas.width, canvas.height);
  }

  function clear() {
    wipe(context);
    isExample = false;
    strokes = [];
  }

  const levelsOf = (from) =>
    blockMeans(from.getImageData(0, 0, canvas.width, canvas.height).data, width, height, k, nDrawn);

  /** The drawing as a row; figures on an even ground are brought into the frame. */
  function row() {
    if (frame && strokes && strokes.length) return rowOfLevels(levelsOfStrokes(), model);
    const levels = levelsOf(context);
    const figure = frame && figureOf(levels, width, ground);
    const placement = figure && placementOf(figure, frame, Math.max(width, height));
    if (!placement) return rowOfLevels(levels, model);
    const scale = placement.side / figure.side;
    wipe(spareContext);
    spareContext.drawImage(
      canvas,
      k * (placement.x - scale * figure.x),
      k * (placement.y - scale * figure.y),
      scale * canvas.width,
      scale * canvas.height
    );
    return rowOfLevels(levelsOf(spareContext), model);
  }

  /** Levels of strokes in the middle of the frame, drawn with a pen as wide as the strokes of the data. */
  function levelsOfStrokes() {
    const pen = stroke * Math.max(...strokes.map(({ brush }) => brush));
    const figure = figureOfStrokes(strokes.map(({ points }) => points), k, pen);
    const side = clamp(figure.side, ...frame.side);
    const scale = figure.side > pen ? Math.max(side - pen, 0) / (figure.side - pen) : 1;
    const [middleY, middleX] = frame.centre.map(([low, high]) => (low + high) / 2);
    const [left, right, top, bottom] = figure.box;
    const reach = (a) => scale * Math.abs(a) + pen / 2;
    const x = inside(middleX, reach(figure.x - left), reach(right - figure.x), width);
    const y = inside(middleY, reach(figure.y - top), reach(bottom - figure.y), height);
    const move = ([a, b]) => [k * x + scale * (a - k * figure.x), k * y + scale * (b - k * figure.y)];
    wipe(spareContext);
    for (const { points, brush, color } of strokes) {
      drawStroke(spareContext, { points: points.map(move), width: k * stroke * brush, color });
    }
    return levelsOf(spareContext);
  }

  /** Show a row as it is, without reading it back. */
  function show(values) {
    const levels = app.levels(values);
    const pixels = new ImageData(width, height);
    for (let i = 0; i < width * height; i++) {
      for (let c = 0; c < 3; c++) {
        pixels.data[4 * i + c] = Math.round(255 * levels[nDrawn === 1 ? i : i * nDrawn + c]);
      }
      pixels.data[4 * i + 3] = nDrawn === 4 ? Math.round(255 * levels[4 * i + 3]) : 255;
    }
    resize(spare, width, height);
    spareContext.putImageData(pixels, 0, 0);
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(spare, 0, 0, canvas.width, canvas.height);
    context.imageSmoothingEnabled = true;
    resize(spare, canvas.width, canvas.height);
  }

  // -------------------------------------------------------------- strokes

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [
      ((event.clientX - box.left) / box.width) * canvas.width,
      ((event.clientY - box.top) / box.height) * canvas.height,
    ];
  }

  function drawStroke(on, { points, width: lineWidth, color }) {
    Object.assign(on, { strokeStyle: color, lineWidth, lineCap: "round", lineJoin: "round" });
    on.beginPath();
    on.moveTo(...points[0]);
    for (const point of points) on.lineTo(...point);
    on.stroke();
  }

  let line = null; // the stroke that is being drawn
  function strokeTo(to) {
    const from = line.points[line.points.length - 1] || to;
    line.points.push(to);
    drawStroke(context, { ...line, points: [from, to] });
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    if (isExample && frame) clear();
    isExample = false;
    drawing = true;
    const brush = Number($("brush").value);
    line = {
      points: [],
      brush,
      width: brush * visible,
      color: nDrawn === 1 ? shade(1 - ground) : $("ink").value,
    };
    if (strokes) strokes.push(line);
    strokeTo(place(event));
    changed();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drawing) return;
    const events = event.getCoalescedEvents ? event.getCoalescedEvents() : [];
    for (const each of events.length ? events : [event]) strokeTo(place(each));
    changed();
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => (drawing = false));
  }

  function changed() {
    $("hint").hidden = true;
    app.readInput(row, "drawing");
  }

  // -------------------------------------------------------------- images from elsewhere

  /** Draw a picture so that it covers the canvas, and read it. */
  function take(picture) {
    const ratio = Math.max(canvas.width / picture.width, canvas.height / picture.height);
    const [w, h] = [picture.width * ratio, picture.height * ratio];
    clear();
    strokes = null;
    // pixels that are enlarged stay as they are
    context.imageSmoothingEnabled = ratio < 1;
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, (canvas.width - w) / 2, (canvas.height - h) / 2, w, h);
    context.imageSmoothingEnabled = true;
    if (frame && isNegative(levelsOf(context), width, ground)) {
      context.globalCompositeOperation = "difference";
      context.fillStyle = "white";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.globalCompositeOperation = "source-over";
    }
    changed();
  }

  async function open(file) {
    if (!file) return;
    try {
      take(await createImageBitmap(file));
    } catch {
      app.say(`${file.name} is not an image that this browser can read.`);
    }
  }

  $("open").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", (event) => open(event.target.files[0]));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
  $("clear").addEventListener("click", () => {
    clear();
    $("hint").hidden = false;
    app.readInput(row, "empty");
  });
  $("ink").hidden = nDrawn === 1;
  clear();

  return {
    /** Show a row that was chosen; the first stroke begins anew if it is the page's own choice. */
    show(values, example) {
      show(values);
      strokes = null;
      isExample = example;
      $("hint").hidden = !example;
    },
    take,
    row,
  };
}
