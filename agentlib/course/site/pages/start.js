// The start page: the player plays a run that was made when the site was built; a worker runs the visitor's own text.
import player from "./player.js";
import { PageModel } from "./page_model.js";
import { Python } from "./python.js";

const LIMIT_SECONDS = 10; // watch ends a loop long before; this is for what Python cannot end
const KEPT = "agentlib-start-loop";
const at = (id) => document.getElementById(id);
const [text, steps, status] = [at("text"), at("steps"), at("status")];
const original = text.value;

const values = JSON.parse(at("values").textContent);
// The form "what if": the loop that is shown runs again, with one thing changed.
const model = new PageModel(values, async (wish) => {
  const { text: value, ...rest } = wish;
  const answer = await ask({ ...rest, value, ...shown });
  if (answer.problem) model.set("problem", answer.problem);
  else show(answer);
});
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

const python = new Python("agentlib.course.site.live.answer_page", (state, problem) => {
  if (state === "slow") say("Python is still being loaded: the network is slow, or it is gone. The player and the map work meanwhile.");
  if (state === "missing") say(`Loops do not run here now. ${problem} The player and the map work. Press Run my loop to try again.`, true);
  if (state === "ready" && !status.classList.contains("wrong")) say("Python is ready: run your loop.");
});

const ask = (request) => python.ask(request, LIMIT_SECONDS, (seconds) => (
  `This ran longer than ${seconds} seconds and was ended. Is there a way out of each loop? Python is being loaded anew.`
));

// --- the form ------------------------------------------------------------------------------------------

async function run() {
  const request = { text: field.text, max_steps: Number(steps.value) };
  say(python.state === "ready" ? "Running ..." : "Python is being loaded; your loop runs as soon as it is there.");
  const answer = await ask({ do: "run", ...request });
  if (answer.problem) {
    say(answer.problem, true);
    field.mark(answer.line ?? 0);
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
    localStorage.setItem(KEPT, field.text);
  } catch {
    say("This browser keeps nothing more for this page: what you write is lost when you close it.", true);
  }
}

try {
  text.value = localStorage.getItem(KEPT) ?? original;
} catch { /* said when there is something to keep */ }

// The textarea itself, until the editor is there, and for good if it does not come.
let field = { get text() { return text.value; }, set text(value) { text.value = value; }, mark() {} };
text.addEventListener("input", keep);
import("./editor.js").then(({ editorFor }) => { field = editorFor(text, keep); }).catch(() => {});

at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
at("again").addEventListener("click", () => {
  field.text = original;
  try {
    localStorage.removeItem(KEPT);
  } catch { /* nothing was kept */ }
  run();
});

// What the pages of exercises have kept: the best points of each.
for (const link of document.querySelectorAll('table a[href^="exercises/"]')) {
  try {
    const { best, of } = JSON.parse(localStorage.getItem(`agentlib-best-${link.pathname.match(/(\w+)\.html$/)[1]}`));
    link.after(` (your best: ${best} of ${of} points)`);
  } catch { /* nothing is kept of it */ }
}

if (!matchMedia("(prefers-reduced-motion: reduce)").matches) at("player").querySelector(".agentlib-play")?.click();
