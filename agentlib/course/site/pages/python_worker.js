// Python for a page: the course without its widgets, so that less has to be loaded. The worker's name is the
// function that answers, with its module: text in, text out. Meanwhile it may tell how many seconds what it does next
// may take.
import { loadPyodide } from "./static/pyodide/pyodide.mjs";

const base = new URL(".", import.meta.url).href;
const NOT_COME = /fetch|NetworkError|importing|not installed/;

function fail(problem) {
  const words = String(problem?.message ?? problem).trim();
  self.postMessage({ problem: NOT_COME.test(words) ? "a file of it did not come" : words.split("\n").at(-1) });
}

self.addEventListener("unhandledrejection", (event) => fail(event.reason)); // a file that does not come, for example
try {
  const python = await loadPyodide({
    indexURL: `${base}static/pyodide/`,
    lockFileURL: `${base}static/pyodide-lock/start-lock.json`,
    packages: ["agentlib-course"],
  });
  const [, module, name] = self.name.match(/^(.*)\.(\w+)$/);
  const answer = python.runPython(`from ${module} import ${name}\n${name}`);
  const now = (seconds) => self.postMessage({ seconds });
  self.onmessage = ({ data }) => self.postMessage({ answer: answer(data, now) });
  self.postMessage({ ready: true });
} catch (problem) {
  fail(problem);
}
