// The start page: the player plays a run that was made when the site was built; a worker runs the visitor's own text.
import player from "./player.js";

const LIMIT_MS = 10_000; // watch ends a loop long before; this is for what Python cannot end
const KEPT = "agentlib-start-loop";
const at = (id) => document.getElementById(id);
const [text, steps, status] = [at("text"), at("steps"), at("status")];
const original = text.value;

// What a notebook's widget offers the player.
class PageModel {
  constructor(values) {
    this.values = values;
    this.listeners = new Map();
  }

  get(name) { return this.values[name]; }

  set(name, value) {
    if (this.values[name] === value) return;
    this.values[name] = value;
    this.tell(`change:${name}`);
  }

  tell(event, ...what) { for (const listener of this.listeners.get(event) ?? []) listener(...what); }

  on(name, listener) { this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]); }

  off(name, listener) { this.listeners.set(name, (this.listeners.get(name) ?? []).filter((one) => one !== listener)); }

  save_changes() {}

  // The form "what if": the loop that is shown runs again, with one thing changed.
  async send(wish) {
    const { text: value, ...rest } = wish;
    const answer = await ask({ ...rest, value, ...shown });
    if (answer.problem) this.set("problem", answer.problem);
    else show(answer);
    this.tell("msg:custom", { done: wish.do });
  }
}

const values = JSON.parse(at("values").textContent);
const model = new PageModel(values);
let shown = { text: original, max_steps: Number(steps.value) }; // what made the run in the player
player.render({ model, el: at("player") });

function show(answer) {
  for (const name of ["problem", "guess"]) model.set(name, answer[name]);
  model.set("timelines", answer.timelines);
  model.set("frame", answer.frame);
}

function say(words, wrong = false) {
  status.textContent = words;
  status.classList.toggle("wrong", wrong);
}

// --- Python, in a worker of its own ----------------------------------------------------------------------

let worker;
let ready;

function start() {
  ready = new Promise((resolve, reject) => {
    worker = new Worker("start_worker.js", { type: "module" });
    worker.onmessage = ({ data }) => (data.ready ? resolve() : reject(new Error(data.problem)));
    worker.onerror = (event) => reject(new Error(event.message || "a file of it did not come"));
  });
  ready.then(
    () => {
      document.body.dataset.python = "ready";
      if (!status.classList.contains("wrong")) say("Python is ready: run your loop.");
    },
    (problem) => {
      document.body.dataset.python = "missing";
      say(`Python could not be loaded (${problem.message}), so loops do not run here now. The player and the map work. Check the network and press Run my loop to try again.`, true);
    },
  );
  ready.catch(() => {});
}

function restart() {
  worker?.terminate();
  delete document.body.dataset.python;
  start();
}

// One after the other: the worker gives one answer at a time.
let before = Promise.resolve();

function ask(request) {
  before = before.then(() => askNow(request));
  return before;
}

async function askNow(request) {
  if (document.body.dataset.python === "missing") restart();
  try {
    await ready;
  } catch {
    return { problem: status.textContent };
  }
  const asked = worker;
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      restart();
      resolve({ problem: `This ran longer than ${LIMIT_MS / 1000} seconds and was ended. Is there a way out of each loop? Python is being loaded anew.` });
    }, LIMIT_MS);
    asked.onmessage = ({ data }) => {
      clearTimeout(late);
      resolve(JSON.parse(data.answer));
    };
    asked.postMessage(JSON.stringify(request));
  });
}

// --- the form ------------------------------------------------------------------------------------------

async function run() {
  const request = { text: text.value, max_steps: Number(steps.value) };
  say(document.body.dataset.python === "ready" ? "Running ..." : "Python is being loaded; your loop runs as soon as it is there.");
  const answer = await ask({ do: "run", ...request });
  if (answer.problem) {
    say(answer.problem, true);
    return;
  }
  shown = request;
  show(answer);
  const end = answer.timelines[0].frames.at(-1);
  say(`Your loop has run: ${answer.timelines[0].frames.length} frames. ${end.caption.replaceAll("`", "")} Play it above.`);
  at("player").scrollIntoView({ block: "nearest" });
}

function keep() {
  try {
    localStorage.setItem(KEPT, text.value);
  } catch {
    say("This browser keeps nothing for this page: what you write is lost when you close it.", true);
  }
}

try {
  text.value = localStorage.getItem(KEPT) ?? original;
} catch { /* said when there is something to keep */ }

text.addEventListener("input", keep);
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
  const line = text.value.slice(0, text.selectionStart).split("\n").at(-1);
  const indent = line.match(/^ */)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
  event.preventDefault();
  text.setRangeText(`\n${indent}`, text.selectionStart, text.selectionEnd, "end");
  keep();
});
at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
at("again").addEventListener("click", () => {
  text.value = original;
  try {
    localStorage.removeItem(KEPT);
  } catch { /* nothing was kept */ }
  run();
});

if (!matchMedia("(prefers-reduced-motion: reduce)").matches) at("player").querySelector(".agentlib-play")?.click();
if (typeof WebAssembly === "object") start();
else say("This browser cannot run Python in a page (it has no WebAssembly). The player and the map work; to run loops, use a newer browser.", true);
