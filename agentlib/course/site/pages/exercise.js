// The page of an exercise: its cells are written here, kept in this browser, and checked by Python in a worker.
import { PageModel } from "./page_model.js";
import player from "./player.js";
import { Python } from "./python.js";

const LIMIT_SECONDS = 20; // before anything has been told of what runs
const GRACE_SECONDS = 5; // Python ends what runs too long; after these the worker is ended
const REFUSED = "This browser keeps nothing for this page: what you write is lost when you close it or load it anew. Download the notebook before you leave.";
const FULL = "There is no room left in this browser: your last changes are not kept, and are lost when you close this page or load it anew. Download the notebook, or delete what other sites keep.";
const OTHER_TAB = "This exercise is open in another tab, too, and another text was written there. The text here has not changed; your next change here takes the place of the other. To go on with the other one, load this page anew.";
const NEWER = "The exercise has changed since you began it. What you wrote stays. To take the new one, download your notebook, then reset to the beginning.";
const LATE = (seconds) => `After ${seconds} seconds your code was still running, in a call that cannot be interrupted. So Python was ended, and is being loaded anew. What you wrote is still here. Which call in your code never comes back?`;

const exercise = JSON.parse(document.getElementById("exercise").textContent);
const cells = exercise.notebook.cells.filter((cell) => cell.cell_type === "code");
const at = (id) => document.getElementById(id);
const textOf = (cell) => [].concat(cell.source).join("");
const KEPT = `agentlib-exercise-${exercise.name}`;
const BEST = `agentlib-best-${exercise.name}`;

// --- words ------------------------------------------------------------------------------------------------

function say(words, wrong = false) {
  at("status").textContent = words;
  at("status").classList.toggle("wrong", wrong);
  at("to-line").hidden = true;
}

const keepingWords = at("keeping").textContent;

function sayKept(words) {
  at("keeping").textContent = words || keepingWords;
  at("keeping").classList.toggle("wrong", Boolean(words));
}

// --- what is written and kept -----------------------------------------------------------------------------

let unkept = false; // whether something would be lost with the page

function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    return {}; // nothing, or storage is refused, which is said as soon as there is something to keep
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return "";
  } catch {
    return hasStorage() ? FULL : REFUSED;
  }
}

function hasStorage() {
  try {
    return localStorage.length > 0;
  } catch {
    return false;
  }
}

// One for each cell that can be written in: the plain field, until the editor is there.
const fields = new Map();
for (const box of document.querySelectorAll("[data-place]")) {
  const area = box.querySelector("textarea");
  const place = Number(box.dataset.place);
  const field = {
    box,
    area,
    id: cells[place].id,
    begun: textOf(cells[place]),
    get text() { return area.value; },
    set text(text) { area.value = text; },
    mark() {},
    show() { area.focus(); },
  };
  fields.set(place, field);
}

function keep() {
  const before = stored(KEPT);
  const changed = [...fields.values()].filter((field) => field.text !== field.begun);
  const value = { ...before, cells: {}, begun: {} };
  for (const field of changed) {
    value.cells[field.id] = field.text;
    value.begun[field.id] = before.cells?.[field.id] === undefined ? field.begun : before.begun[field.id];
  }
  const problem = store(KEPT, value);
  unkept = Boolean(problem);
  sayKept(problem);
  at("report").dataset.stale = String(checked !== undefined && !same(checked.notebook));
}

function restore() {
  const before = stored(KEPT);
  for (const field of fields.values()) {
    const text = before.cells?.[field.id];
    if (text === undefined) continue;
    field.area.value = text;
    if (before.begun?.[field.id] !== field.begun) sayKept(NEWER);
  }
}

addEventListener("storage", (event) => {
  if (event.key !== KEPT) return;
  const theirs = JSON.parse(event.newValue ?? "{}").cells ?? {};
  const differs = [...fields.values()].some((field) => (theirs[field.id] ?? field.begun) !== field.text);
  sayKept(differs ? OTHER_TAB : "");
});

addEventListener("beforeunload", (event) => { if (unkept) event.preventDefault(); });

// The exercise's notebook with what is written here in its cells.
function notebook() {
  const whole = structuredClone(exercise.notebook);
  const code = whole.cells.filter((cell) => cell.cell_type === "code");
  for (const [place, field] of fields) code[place].source = field.text;
  return whole;
}

const same = (other) => JSON.stringify(notebook()) === JSON.stringify(other);

at("download").addEventListener("click", () => {
  const file = new Blob([`${JSON.stringify(notebook(), null, 1)}\n`], { type: "application/x-ipynb+json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = exercise.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
});

at("take").addEventListener("change", async () => {
  const [file] = at("take").files;
  at("take").value = "";
  let taken = 0;
  try {
    const given = JSON.parse(await file.text()).cells.filter((cell) => cell.cell_type === "code");
    for (const [place, field] of fields) {
      const mark = cells[place].metadata.nbgrader?.grade_id;
      const cell = given.find((one) => one.id === field.id || (mark && one.metadata?.nbgrader?.grade_id === mark));
      if (!cell) continue;
      field.text = textOf(cell);
      taken += 1;
    }
  } catch { /* no notebook: nothing was taken */ }
  if (taken) keep();
  say(taken ? `Taken in: ${taken} ${taken === 1 ? "cell" : "cells"} of ${file.name}. Ctrl+Z in an editor brings back what was there.` : `${file.name} is no notebook of this exercise. Nothing was changed.`, !taken);
});

at("reset").addEventListener("click", () => {
  if (!confirm("Put this exercise back to its beginning? What you wrote here is dropped. Your best points stay.")) return;
  for (const field of fields.values()) field.text = field.begun;
  try {
    localStorage.removeItem(KEPT);
  } catch { /* nothing was kept */ }
  unkept = false;
  sayKept("");
  say("The exercise is as it was at the beginning. Ctrl+Z in an editor brings back what you wrote, until you leave this page.");
});

// --- Python -----------------------------------------------------------------------------------------------

const python = new Python("agentlib.course.site.exercise.answer_exercise", (state, problem) => {
  if (state === "slow") say("Python is still being loaded: the network is slow, or it is gone. You can read and write meanwhile.");
  if (state === "missing") say(`Nothing can be checked here now. ${problem} You can read and write, and download the notebook. To try again, press the button once more.`, true);
  if (state === "ready" && !at("status").classList.contains("wrong")) say("Python is ready.");
});

let running = 0;

async function ask(request) {
  say(python.state === "ready" ? "Running ..." : "Python is being loaded; your code runs as soon as it is there.");
  for (const field of fields.values()) field.mark(0);
  running += 1;
  at("stop").hidden = false;
  const answer = await python.ask({ exercise: exercise.name, ...request }, LIMIT_SECONDS, LATE, GRACE_SECONDS);
  running -= 1;
  at("stop").hidden = running === 0;
  if (answer.problem) {
    say(answer.problem, true);
    showPlace(answer);
  }
  return answer;
}

function showPlace({ cell, line }) {
  const field = fields.get(cell);
  if (!field || !line) return;
  field.mark(line);
  const button = at("to-line").querySelector("button");
  button.textContent = `Go to line ${line}`;
  button.onclick = () => field.show(line);
  at("to-line").hidden = false;
}

at("stop").addEventListener("click", () => {
  python.restart("You stopped it. Python is being loaded anew; what you wrote is still here.");
  at("check-now").focus();
});

function playIn(place, values) {
  const el = document.createElement("div");
  place.append(el);
  player.render({ model: new PageModel(values), el });
}

function showOutputs(place, outputs) {
  for (const item of outputs) {
    const el = document.createElement(item.text === undefined ? "div" : "pre");
    place.append(el);
    if (item.text !== undefined) el.textContent = item.text;
    else if (item.html !== undefined) el.innerHTML = item.html;
    else playIn(el, item.player);
  }
}

// --- run one cell -----------------------------------------------------------------------------------------

async function runCell(place) {
  const came = fields.get(place).box.querySelector(".came");
  const answer = await ask({ do: "run", notebook: notebook(), cell: place });
  if (answer.problem) return;
  came.replaceChildren();
  showOutputs(came, answer.outputs);
  for (const words of answer.problems) {
    const line = document.createElement("p");
    line.textContent = words;
    line.className = "wrong";
    came.append(line);
  }
  if (!came.firstChild) came.textContent = "It printed nothing.";
  say(answer.problems.length ? "The cell has run, and something went wrong: see beneath it." : "The cell has run.");
}

// --- check ------------------------------------------------------------------------------------------------

let checked; // the notebook of the report that is shown, and its seed

async function check() {
  const asked = { notebook: notebook(), seed: at("same").checked ? checked.seed : null };
  const answer = await ask({ do: "check", ...asked });
  if (answer.problem) return;
  checked = { notebook: asked.notebook, seed: answer.seed };
  showReport(answer);
  const points = answer.started ? `${answer.points} of ${answer.max_points} points. ` : "";
  say(points + answer.verdict.replaceAll("`", ""));
  if (answer.started) keepBest(answer);
}

// Said once more, for browsers that no longer take a table for one when a narrow page stacks its cells.
const ROLES = [["table", "table"], ["thead, tbody", "rowgroup"], ["tr", "row"], ["thead th", "columnheader"], ["tbody th", "rowheader"], ["td", "cell"]];

function showReport(answer) {
  const report = at("report");
  report.dataset.stale = "false";
  report.hidden = false;
  report.innerHTML = `<p class="stale">Your code has changed since this check.</p><div class="scroll">${answer.html}</div>`;
  at("same-row").hidden = false;
  at("watched").hidden = true;
  const table = report.querySelector("table");
  for (const line of [...report.querySelectorAll(".scroll > p")]) report.append(line);
  if (!table) report.querySelector(".scroll").remove();
  for (const [parts, role] of ROLES) for (const part of report.querySelectorAll(parts)) part.setAttribute("role", role);
  answer.watchable.forEach((part, row) => { if (part) addWatch(table.tBodies[0].rows[row], part); });
  if (answer.outputs.length) {
    const heading = document.createElement("h3");
    heading.textContent = "Printed outside of your functions";
    report.append(heading);
    showOutputs(report, answer.outputs);
  }
}

function addWatch(row, part) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Watch this run";
  button.setAttribute("aria-label", `Watch this run: ${row.cells[0].textContent}`);
  button.addEventListener("click", () => watchRun(part));
  row.cells[row.cells.length - 1].append(button);
}

async function watchRun(part) {
  const answer = await ask({ do: "watch", ...checked, part });
  if (answer.problem) return;
  const place = at("watched");
  const heading = place.querySelector("h3");
  heading.textContent = answer.title;
  place.querySelector("div").replaceChildren();
  place.hidden = false;
  playIn(place.querySelector("div"), answer.player);
  say("The run is beneath the report, at the place where it can be seen.");
  heading.focus({ preventScroll: true });
  place.scrollIntoView({ block: "start" });
}

function keepBest({ points, max_points: of }) {
  const best = Math.max(points, stored(BEST).best ?? 0);
  showBest({ best, of }, store(BEST, { best, of }));
}

function showBest({ best, of }, problem = "") {
  if (of === undefined) return;
  at("best").textContent = `Your best so far${problem ? "" : ", kept in this browser"}: ${best} of ${of} points.${problem ? " This browser does not keep it." : ""}`;
}

// --- begin ------------------------------------------------------------------------------------------------

restore();
showBest(stored(BEST));
at("check-now").addEventListener("click", check);
for (const [place, field] of fields) {
  field.area.addEventListener("input", keep);
  field.box.querySelector(".run-cell")?.addEventListener("click", () => runCell(place));
}
import("./editor.js").then(({ editorFor }) => {
  for (const [place, field] of fields) {
    const tries = field.box.dataset.kind === "try";
    const options = { run: tries ? () => runCell(place) : check, runWords: tries ? "runs it" : "checks it" };
    const editor = editorFor(field.area, keep, options);
    fields.set(place, Object.assign(editor, { box: field.box, area: field.area, id: field.id, begun: field.begun }));
  }
}).catch(() => {});
