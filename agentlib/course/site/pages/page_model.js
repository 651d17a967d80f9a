// What a notebook's widget offers the player, in a page without a kernel.
export class PageModel {
  // values: by name. answer(wish): does what the player wishes for, "what if" for example; none = it cannot.
  constructor(values, answer = () => {}) {
    this.values = values;
    this.answer = answer;
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

  async send(wish) {
    await this.answer(wish);
    this.tell("msg:custom", { done: wish.do });
  }
}
