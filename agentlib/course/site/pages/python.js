// Python in a worker of its own, for any page of the site: it answers one request at a time, and what does not end
// is ended with the worker.

const SLOW_MS = 30_000; // loading that takes longer is spoken of
const TOO_OLD = "This browser cannot run Python in a page (it has no WebAssembly).";

const failed = (why) => new Error(`It could not be loaded: ${why}. Check the network.`);

export class Python {
  // answers: the function that answers, with its module. tell(state, words): called when the state changes, which is
  // "loading", "slow", "ready" or "missing"; words say why it is missing. It stands at the body, too.
  constructor(answers, tell) {
    this.answers = answers;
    this.tell = tell;
    this.before = Promise.resolve();
    this.start();
  }

  get state() { return document.body.dataset.python; }

  become(state, words = "") {
    document.body.dataset.python = state;
    this.tell(state, words);
  }

  start() {
    if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
      this.ready = Promise.reject(new Error(TOO_OLD));
    } else {
      this.ready = new Promise((resolve, reject) => {
        this.giveUp = reject;
        this.worker = new Worker(new URL("python_worker.js", import.meta.url), { type: "module", name: this.answers });
        this.worker.onmessage = ({ data }) => (data.ready ? resolve() : reject(failed(data.problem)));
        this.worker.onerror = (event) => reject(failed(event.message || "a file of it did not come"));
      });
    }
    const worker = this.worker;
    const current = () => worker === this.worker;
    const slow = setTimeout(() => current() && this.become("slow"), SLOW_MS);
    this.become("loading");
    this.ready.then(
      () => current() && this.become("ready"),
      (problem) => current() && this.become("missing", problem.message),
    ).finally(() => clearTimeout(slow));
  }

  // End the worker, whatever it does, and begin anew. A request that it has not answered gets these words.
  restart(words = "") {
    this.worker?.terminate();
    this.giveUp?.(new Error(words));
    this.end?.({ problem: words });
    this.start();
  }

  // Ask for something; give the answer, or {problem} with words. late(seconds): the words if it takes longer.
  // grace: what Python itself gives more time to, it says so, and gets these seconds on top.
  ask(request, limitSeconds, late, graceSeconds = 0) {
    const asked = this.before.then(() => this.askNow(request, limitSeconds, late, graceSeconds));
    this.before = asked.catch(() => {});
    return asked;
  }

  async askNow(request, limitSeconds, late, graceSeconds) {
    if (this.state === "missing") this.start();
    try {
      await this.ready;
    } catch (problem) {
      return { problem: problem.message };
    }
    return new Promise((resolve) => {
      let timer;
      const end = (answer) => {
        clearTimeout(timer);
        this.end = undefined;
        resolve(answer);
      };
      const wait = (seconds) => {
        clearTimeout(timer);
        timer = setTimeout(() => this.restart(late(seconds)), seconds * 1000);
      };
      this.end = end;
      this.worker.onmessage = ({ data }) => (data.answer === undefined ? wait(data.seconds + graceSeconds) : end(JSON.parse(data.answer)));
      this.worker.onerror = (event) => {
        event.preventDefault();
        this.restart(`Python broke off (${event.message || "no reason is known"}) and is being loaded anew. Try again.`);
      };
      this.worker.postMessage(JSON.stringify(request));
      wait(limitSeconds);
    });
  }
}
