// Python for a page: the course without its widgets, so that less has to be loaded. The worker's name is the
// module that answers, by its function `answer_page`: text in, text out.
import { loadPyodide } from "./static/pyodide/pyodide.mjs";

const base = new URL(".", import.meta.url).href;
try {
  const python = await loadPyodide({
    indexURL: `${base}static/pyodide/`,
    lockFileURL: `${base}static/pyodide-lock/start-lock.json`,
    packages: ["agentlib-course"],
  });
  const answer = python.runPython(`from ${self.name} import answer_page\nanswer_page`);
  self.onmessage = ({ data }) => self.postMessage({ answer: answer(data) });
  self.postMessage({ ready: true });
} catch (problem) {
  self.postMessage({ problem: String(problem.message ?? problem).trim().split("\n").at(-1) });
}
