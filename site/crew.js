// A worker to whom one talks by promises.

export class Crew {
  #worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  #waiting = new Map();
  #number = 0;

  constructor(module) {
    this.#worker.onmessage = ({ data: { number, answer, so_far } }) => {
      const { done, sees } = this.#waiting.get(number);
      if (so_far) return sees(so_far);
      this.#waiting.delete(number);
      done(answer);
    };
    this.#worker.onerror = event => {
      event.preventDefault();
      const refused = { option: "question", problem: `the simulation broke: ${event.message}` };
      for (const { done } of this.#waiting.values()) done({ refused });
      this.#waiting.clear();
    };
    this.module = module;
  }

  #send(message, sees) {
    const number = this.#number++;
    this.#worker.postMessage({ number, module: this.module, ...message });
    return new Promise(done => this.#waiting.set(number, { done, sees }));
  }

  ask(question) {
    return this.#send({ question });
  }

  /// `sees` is called with the pictures so far.
  run(options, width, sees) {
    return this.#send({ run: options, width }, sees);
  }

  end() {
    this.#worker.terminate();
  }
}
