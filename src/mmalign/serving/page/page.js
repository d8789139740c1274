"use strict";
const byId = id => document.getElementById(id);
const make = (tag, attributes = {}, text = "") => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};
const SVG = "http://www.w3.org/2000/svg";
const makeSvg = (tag, attributes) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
const HUES = [195, 28, 130, 280, 345, 60, 230, 95, 310, 165, 15, 255];
const percent = share => `${Math.round(100 * share)}\u00a0%`;
const listed = names => names.length < 2 ? names.join("") :
  `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

const state = { model: null, examples: [], index: 0, clip: null, off: new Set(), gaps: {}, whole: null, now: null };

// --- asking ------------------------------------------------------------------------------
async function ask(path, body) {
  const options = body === undefined ? {} :
    { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error ? found.error.message : `status ${answer.status}`);
  return found;
}

function complain(error) {
  byId("problem").hidden = !error;
  byId("problem").textContent = error ? error.message : "";
}

const there = name => state.clip.sequences[name] !== null && state.clip.sequences[name] !== undefined;
const left = name => state.clip.sequences[name].map((step, t) => state.gaps[name].has(t) ? null : step);

function remaining() {
  const found = {};
  for (const name of Object.keys(state.model.modalities)) {
    if (!there(name) || state.off.has(name)) continue;
    const steps = left(name);
    if (steps.some(step => step !== null)) found[name] = steps;
  }
  return found;
}

let isAsking = false, isStale = false;
async function refresh() {
  if (isAsking) { isStale = true; return; }
  isAsking = true;
  do {
    isStale = false;
    try { await answerNow(); complain(null); } catch (error) { state.now = null; complain(error); }
    draw();
  } while (isStale);
  isAsking = false;
}

async function answerNow() {
  const clip = state.clip, sequences = remaining();
  if (!Object.keys(sequences).length) throw new Error("Nothing is left to answer from. Switch something on.");
  const clips = [{ id: "now", sequences }];
  if (state.whole === null) clips.push({ id: "whole", sequences: clip.sequences });
  const isAligned = state.model.directions.length > 0;
  const longest = Math.max(...Object.values(sequences).map(steps => steps.length));
  const plans = isAligned && longest <= state.model.limits.max_plan_steps;
  const { answers } = await ask("/v1/predict", { clips, plans });
  if (clip !== state.clip) { isStale = true; return; }
  state.now = answers[0];
  if (answers.length > 1) state.whole = answers[1];
}

// --- the answer --------------------------------------------------------------------------
const said = (answer, isSure = true) => answer.probabilities === null ? answer.prediction.toFixed(3) :
  answer.prediction + (isSure ? ` (${percent(answer.probabilities[answer.prediction])})` : "");

const spelled = label => typeof label === "number" ? label.toFixed(3) : label;

// What is gone, what that changes, and what is true; told in one glance, and read out by screen readers.
function drawSentence() {
  const { now, whole, clip } = state, box = byId("sentence");
  if (!now || !whole) { box.replaceChildren(); return; }
  const lost = now.missing.filter(name => whole.used.includes(name));
  const painted = Object.entries(now.gaps).map(([name, count]) => [name, count - (whole.gaps[name] || 0)]);
  const gaps = painted.filter(([, count]) => count > 0).map(([name, count]) => `${count} step${count > 1 ? "s" : ""} of ${name}`);
  const parts = [];
  if (lost.length) parts.push(`${listed(lost)} ${lost.length > 1 ? "are" : "is"} off.`);
  if (gaps.length) parts.push(`${listed(gaps)} missing.`);
  const isLost = parts.length > 0, isChanged = isLost && said(now, false) !== said(whole, false);
  const all = whole.missing.length ? `Without ${listed(whole.missing)}, which the clip lacks` : "With everything";
  if (!isLost) parts.push(`${all}: ${said(now)}.`);
  else if (isChanged) parts.push(`The answer changes from ${said(whole)} to ${said(now)}.`);
  else parts.push(`The answer stays ${said(now)}.`);
  const more = isLost && !isChanged ? [`${all}: ${said(whole)}.`] : [];
  if (clip.label !== null && clip.label !== undefined) {
    const isRight = typeof clip.label === "number" ? "" : ` The answer is ${clip.label === now.prediction ? "right" : "wrong"}.`;
    more.push(`True label: ${spelled(clip.label)}.${isRight}`);
  }
  box.className = isChanged ? "is-changed" : isLost ? "is-lost" : "";
  box.replaceChildren(make("strong", {}, parts.join(" ")), more.join(" "));
}

function draw() {
  drawSentence();
  if (state.now && state.whole) (state.now.probabilities === null ? drawNumbers : drawBars)();
  else byId("bars").replaceChildren();
  for (const name of Object.keys(state.model.modalities)) drawState(name);
  drawPlans();
}

function bar(name, share, whole, text, classes) {
  const row = make("div", { class: `row ${classes}` });
  const track = make("div", { class: "track" });
  const now = make("div", { class: "now" }), mark = make("div", { class: "whole" });
  now.style.width = `${100 * share}%`;
  mark.style.left = `${100 * whole}%`;
  track.append(now, mark);
  row.append(make("span", { class: "name" }, name), track, make("span", { class: "share" }, text));
  return row;
}

function drawBars() {
  const { now, whole, clip } = state;
  const names = Object.keys(now.probabilities);
  const most = names.length > 12 ?
    names.sort((a, b) => whole.probabilities[b] - whole.probabilities[a]).slice(0, 12) : names;
  byId("bars").replaceChildren(...most.map(name => bar(
    name, now.probabilities[name], whole.probabilities[name], percent(now.probabilities[name]),
    `${name === clip.label ? "is-true" : ""} ${name === now.prediction ? "is-said" : ""}`)));
}

function drawNumbers() {
  const { now, whole, clip } = state, task = state.model.task;
  const known = [now.prediction, whole.prediction, clip.label ?? now.prediction];
  const low = task.low ?? Math.min(...known) - 1, high = task.high ?? Math.max(...known) + 1;
  const place = value => Math.max(0, Math.min(1, (value - low) / (high - low)));
  const rows = [bar("now", place(now.prediction), place(whole.prediction), now.prediction.toFixed(2), "is-said")];
  if (typeof clip.label === "number")
    rows.push(bar("true", place(clip.label), place(whole.prediction), clip.label.toFixed(2), "is-true"));
  byId("bars").replaceChildren(...rows);
}

// --- modalities --------------------------------------------------------------------------
function drawState(name) {
  const card = cards[name];
  if (!card) return;
  const isOff = state.off.has(name), gaps = there(name) ? state.gaps[name].size : 0;
  const steps = there(name) ? state.clip.sequences[name] : [], lost = steps.filter(step => step === null).length;
  const isImputed = state.now && state.now.imputed.includes(name);
  card.root.classList.toggle("is-off", isOff || !there(name));
  card.button.setAttribute("aria-checked", String(!isOff && there(name)));
  card.button.textContent = isOff || !there(name) ? "off" : "on";
  card.state.textContent = !there(name) ? "not in this clip" :
    isOff ? (isImputed ? "off: imputed from the others" : "off: left out of the answer") :
      gaps ? `gap of ${gaps} of ${steps.length} steps` :
        `${steps.length} steps, ${lost ? `${lost} of them lost in the recording` : "all there"}`;
  drawGaps(name);
}

let cards = {};
function buildCards() {
  cards = {};
  byId("cards").replaceChildren(...Object.entries(state.model.modalities).map(([name, facts]) => {
    const root = make("div", { class: "card" }), head = make("div", { class: "head" });
    const button = make("button", { type: "button", class: "switch", role: "switch", "aria-checked": "true", "aria-label": name }, "on");
    const status = make("span", { class: "state" });
    head.append(button, make("span", { class: "title" }, name), status);
    if (facts.is_needed) { button.disabled = true; button.title = "this model cannot do without it"; }
    button.addEventListener("click", () => toggle(name));
    root.append(head);
    cards[name] = { root, button, state: status, cursor: 0 };
    return root;
  }));
}

function toggle(name) {
  if (!there(name)) return;
  if (state.off.has(name)) state.off.delete(name); else state.off.add(name);
  drawState(name);
  refresh();
}

function drawPlot(name) {
  const card = cards[name], steps = state.clip.sequences[name];
  if (card.plot) card.plot.remove();
  card.plot = null;
  if (!there(name)) return;
  const count = steps.length, width = Math.max(count, 2);
  const plot = makeSvg("svg", { class: "plot", viewBox: `0 0 ${width} 100`, preserveAspectRatio: "none",
    tabindex: "0", role: "application", "aria-label": `${name}: ${count} steps. Arrow keys move, Space paints a gap, Delete clears.` });
  plot.append(makeSvg("g", { class: "gaps" }));
  for (const line of lines(steps)) plot.append(line);
  plot.append(makeSvg("line", { class: "cursor", y1: 0, y2: 100, x1: 0.5, x2: 0.5 }));
  card.root.append(plot);
  Object.assign(card, { plot, cursor: 0 });
  listen(name, plot, count);
}

function* lines(steps) {
  const dim = steps.find(step => step !== null).length, shown = Math.min(dim, 12);
  for (let k = 0; k < shown; k++) {
    const channel = Math.floor(k * dim / shown);
    const values = steps.map(step => step === null ? null : step[channel]);
    const known = values.filter(value => value !== null);
    const low = Math.min(...known), size = (Math.max(...known) - low) || 1;
    let path = "", isDown = false;
    values.forEach((value, t) => {
      if (value === null) { isDown = false; return; }
      path += `${isDown ? "L" : "M"}${t + 0.5} ${(94 - 88 * (value - low) / size).toFixed(2)}`;
      isDown = true;
    });
    yield makeSvg("path", { d: path, stroke: `hsl(${HUES[k]} 60% 48%)` });
  }
}

function drawGaps(name) {
  const plot = cards[name].plot;
  if (!plot) return;
  const marks = [...state.gaps[name]].map(t => makeSvg("rect", { class: "gap", x: t, y: 0, width: 1, height: 100 }));
  plot.querySelector(".gaps").replaceChildren(...marks);
  const at = cards[name].cursor + 0.5;
  const cursor = plot.querySelector(".cursor");
  cursor.setAttribute("x1", at); cursor.setAttribute("x2", at);
}

function paint(name, from, to, isGap) {
  for (let t = Math.min(from, to); t <= Math.max(from, to); t++)
    if (isGap) state.gaps[name].add(t); else state.gaps[name].delete(t);
  drawState(name);
  refresh();
}

function listen(name, plot, count) {
  let last = null, isGap = true;
  const step = event => {
    const box = plot.getBoundingClientRect();
    return Math.max(0, Math.min(count - 1, Math.floor((event.clientX - box.left) / box.width * Math.max(count, 2))));
  };
  plot.addEventListener("pointerdown", event => {
    plot.setPointerCapture(event.pointerId);
    last = step(event);
    isGap = !state.gaps[name].has(last);
    paint(name, last, last, isGap);
  });
  plot.addEventListener("pointermove", event => {
    if (last === null) return;
    const at = step(event);
    if (at !== last) paint(name, last, at, isGap);
    last = at;
  });
  for (const kind of ["pointerup", "pointercancel"]) plot.addEventListener(kind, () => { last = null; });
  plot.addEventListener("keydown", event => {
    const card = cards[name], move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move) {
      card.cursor = Math.max(0, Math.min(count - 1, card.cursor + move));
      if (event.shiftKey) paint(name, card.cursor, card.cursor, true); else drawGaps(name);
    } else if (event.key === " ") {
      paint(name, card.cursor, card.cursor, !state.gaps[name].has(card.cursor));
      card.cursor = Math.min(count - 1, card.cursor + 1);
      drawGaps(name);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      paint(name, 0, count - 1, false);
    } else return;
    event.preventDefault();
  });
}

// --- plans -------------------------------------------------------------------------------
function drawPlans() {
  const plans = (state.now && state.now.plans) || [];
  byId("plans").hidden = !plans.length;
  byId("maps").replaceChildren(...plans.map(plan => {
    const figure = make("figure"), rows = plan.mass.length, columns = plan.mass[0].length;
    const canvas = make("canvas", { width: columns, height: rows, role: "img",
      "aria-label": `plan from ${plan.source} to ${plan.target}` });
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
    const most = Math.max(...plan.mass.map(row => Math.max(...row))) || 1;
    const ink = matchMedia("(prefers-color-scheme: dark)").matches ? [88, 188, 216] : [11, 110, 138];
    plan.mass.flat().forEach((mass, k) => image.data.set([...ink, 255 * Math.sqrt(mass / most)], 4 * k));
    context.putImageData(image, 0, 0);
    figure.append(make("figcaption", {}, `${plan.source} (down) to ${plan.target} (across), ` +
      (plan.is_predicted ? "guessed from what is left" : "solved from both")), canvas);
    return figure;
  }));
}

// --- clips -------------------------------------------------------------------------------
function show(clip) {
  Object.assign(state, { clip, whole: null, now: null });
  state.gaps = Object.fromEntries(Object.keys(clip.sequences).map(name => [name, new Set()]));
  for (const name of [...state.off]) if (!there(name)) state.off.delete(name);
  for (const name of Object.keys(state.model.modalities)) { drawPlot(name); drawState(name); }
  return refresh();
}

async function choose(index) {
  const count = state.examples.length;
  state.index = (index + count) % count;
  byId("clip").value = String(state.index);
  try { await show(await ask(`/v1/examples/${state.index}`)); } catch (error) { complain(error); }
}

function readTensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  const sequences = {};
  for (const name of Object.keys(state.model.modalities)) {
    if (!header[name]) continue;
    const { dtype, shape: [rows, dim], data_offsets: [from, to] } = header[name];
    if (dtype !== "F32") throw new Error(`${name}: expected float32.`);
    const flat = new Float32Array(buffer.slice(8 + size + from, 8 + size + to));
    const own = header[`${name}.lengths`];
    const first = own ? Number(new BigInt64Array(buffer.slice(8 + size + own.data_offsets[0], 16 + size + own.data_offsets[0]))[0]) : rows;
    const steps = Array.from({ length: first }, (_, t) => Array.from(flat.subarray(t * dim, (t + 1) * dim)));
    if (first) sequences[name] = steps.map(step => step.some(Number.isNaN) ? null : step);
  }
  return { id: "file", sequences };
}

async function take(file) {
  try {
    const isJson = file.name.endsWith(".json");
    const found = isJson ? JSON.parse(await file.text()) : readTensors(await file.arrayBuffer());
    const clip = found.clips ? found.clips[0] : found;
    if (!clip || !clip.sequences) throw new Error("Expected {\"sequences\": {modality: [[…], …]}}, as POST /v1/predict takes it.");
    stop();
    await show({ id: file.name, label: null, ...clip });
    byId("clip").selectedIndex = -1;
  } catch (error) { complain(error); }
}

// --- live --------------------------------------------------------------------------------
const CLIP_SECONDS = 4, CHUNKS = 10;
let live = null;

function stop() {
  if (!live) return;
  clearInterval(live.timer);
  live.socket.close();
  live = null;
  byId("play").setAttribute("aria-pressed", "false");
  byId("play").textContent = "▶ Play";
}

function play() {
  const rates = {};
  for (const name of Object.keys(state.clip.sequences))
    if (there(name)) rates[name] = state.clip.sequences[name].length / CLIP_SECONDS;
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/stream`);
  live = { socket, chunk: 0, rates };
  byId("play").setAttribute("aria-pressed", "true");
  byId("play").textContent = "■ Stop";
  byId("timeline").hidden = false;
  byId("timeline").tBodies[0].replaceChildren();
  byId("silent").textContent = "";
  socket.addEventListener("open", () => socket.send(JSON.stringify(
    { start: { window: CLIP_SECONDS, stride: CLIP_SECONDS / 4, patience: CLIP_SECONDS / 4, rates } })));
  socket.addEventListener("message", event => hear(JSON.parse(event.data)));
  socket.addEventListener("close", stop);
}

function hear(message) {
  if (message.started) live.timer = setInterval(sendChunk, 1000 * CLIP_SECONDS / CHUNKS);
  if (message.error) complain(new Error(message.error.message));
  const answer = message.answer || message.skipped;
  if (!answer) return;
  const silent = Object.entries(answer.silent);
  byId("silent").textContent = silent.map(([name, time]) =>
    `${name} fell silent at ${time.toFixed(1)} s: ${message.answer ? "answered without it" : "no answer without it"}.`).join(" ");
  const row = make("tr");
  const text = message.answer ? said(answer) : answer.error.message;
  const rest = make("td", {}, message.answer ? `${answer.used.join(", ")} ` : "");
  rest.append(...silent.map(([name]) => make("span", { class: "gone" }, `without ${name} `)));
  row.append(make("td", {}, `${answer.time.toFixed(1)} s`), make("td", {}, text), rest);
  byId("timeline").tBodies[0].prepend(row);
  while (byId("timeline").rows.length > 9) byId("timeline").deleteRow(-1);
}

function sendChunk() {
  if (!live || live.socket.readyState !== WebSocket.OPEN) return;
  const frames = {}, part = live.chunk++ % CHUNKS;
  for (const name of Object.keys(live.rates)) {
    if (state.off.has(name) || !there(name)) continue;
    const steps = left(name), share = steps.length / CHUNKS;
    const chunk = steps.slice(Math.round(part * share), Math.round((part + 1) * share));
    if (chunk.length) frames[name] = chunk;
  }
  if (Object.keys(frames).length) live.socket.send(JSON.stringify({ frames }));
}

// --- start -------------------------------------------------------------------------------
async function start() {
  state.model = await ask("/v1/model");
  state.examples = (await ask("/v1/examples")).examples;
  const { name, kind, task, modalities } = state.model;
  const goal = task.kind === "regression" ? "predicts a number" : `tells ${task.classes.length} classes apart`;
  byId("about").textContent = `The model “${name}” (${kind}) ${goal} from ${listed(Object.keys(modalities))}.`;
  buildCards();
  byId("clip").replaceChildren(...state.examples.map(({ index, id, label }) =>
    make("option", { value: index }, label === null ? id : `${spelled(label)}: ${id}`)));
  byId("clip").addEventListener("change", event => choose(Number(event.target.value)));
  byId("previous").addEventListener("click", () => choose(state.index - 1));
  byId("next").addEventListener("click", () => choose(state.index + 1));
  byId("play").addEventListener("click", () => live ? stop() : state.clip && play());
  byId("file").addEventListener("change", event => event.target.files[0] && take(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"]) document.addEventListener(kind, event => {
    event.preventDefault();
    document.body.classList.toggle("dropping", kind === "dragover");
    if (kind === "drop" && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  if (state.examples.length) await choose(0);
  else {
    for (const id of ["clip", "previous", "next"]) byId(id).disabled = true;
    byId("sentence").textContent = "Drop a file with a clip, or start the service with --examples DATA.";
  }
}
start().catch(complain);
