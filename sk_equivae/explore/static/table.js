// The features of a row: a slider or a list for each, and beside it what the model makes of it.
"use strict";

function makeTable(app) {
  const { model } = app;
  const REACH = 3.5; // standard deviations of a slider
  const features = model.features.map(makeFeature);

  /** The values that a slider goes through. */
  function rangeOf(i) {
    const column = model.columns && model.columns[i];
    if (column && column.low !== null && column.low < column.high) return [column.low, column.high];
    if (model.likelihood === "bernoulli") return [model.shift[i], model.shift[i] + model.scale[i]];
    return [model.shift[i] - REACH * model.scale[i], model.shift[i] + REACH * model.scale[i]];
  }

  function makeFeature(name, i) {
    const column = (model.columns && model.columns[i]) || {};
    const row = element("div", "feature");
    const label = element("label", "name", name);
    const control = element(column.categories ? "select" : "input");
    control.id = `feature-${i}`;
    label.htmlFor = control.id;
    const track = element("div", "track");
    const mark = element("i", "mark");
    const value = element("output", "value");
    const made = element("span", "made");
    value.htmlFor = control.id;
    const [low, high] = rangeOf(i);
    if (column.categories) {
      column.categories.forEach((category, code) => {
        const option = element("option", "", category);
        option.value = code;
        control.append(option);
      });
      track.append(control);
    } else {
      const step = column.integer ? 1 : (high - low) / 500;
      Object.assign(control, { type: "range", min: low, max: high, step });
      track.append(control, mark);
    }
    const numbers = element("span", "numbers");
    numbers.append(value, made);
    row.append(label, track, numbers);
    const feature = { row, control, mark, value, made, low, high, column };
    if (column.gaps) row.append(makeGap(feature, i));
    control.addEventListener("input", () => {
      if (feature.gap) feature.gap.checked = false;
      changed();
    });
    $("features").append(row);
    return feature;
  }

  /** A box to leave a value out. */
  function makeGap(feature, i) {
    const label = element("label", "gap");
    feature.gap = element("input");
    feature.gap.type = "checkbox";
    feature.gap.addEventListener("change", changed);
    feature.gap.setAttribute("aria-label", `${model.features[i]} is missing`);
    label.title = "missing";
    label.append(feature.gap, "?");
    return label;
  }

  function row() {
    return Float64Array.from(features, ({ control, gap, column }) => {
      if ((gap && gap.checked) || column.low === null) return NaN;
      return Number(control.value);
    });
  }

  function changed() {
    app.readInput(row, "drawing");
  }

  function drawValues(values) {
    features.forEach(({ value }, i) => (value.textContent = valueText(model, values[i], i)));
  }

  return {
    row,
    show(values) {
      features.forEach(({ control, gap }, i) => {
        if (gap) gap.checked = Number.isNaN(values[i]);
        if (!Number.isNaN(values[i])) control.value = values[i];
      });
      drawValues(values);
    },
    /** What the model makes of the row, as a mark on each slider. */
    drawMade(made) {
      features.forEach((feature, i) => {
        const { low, high } = feature;
        const at = clamp((made[i] - low) / (high - low || 1), 0, 1);
        feature.mark.style.left = `${100 * at}%`;
        feature.made.textContent = valueText(model, made[i], i);
      });
      if (app.state.input) drawValues(app.state.input.row);
    },
  };
}
