/**
 * Named loops under one AbortSignal. If one loop fails, all are stopped; if one returns, the others continue. `join`
 * resolves when every loop has ended, and rejects with the first failure.
 */
export class TaskGroup {
  readonly #controller = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #detach: () => void;
  #failure: { readonly error: unknown } | undefined;

  constructor(parent?: AbortSignal) {
    const follow = (): void => this.#controller.abort(parent?.reason);
    if (parent?.aborted) follow();
    else parent?.addEventListener("abort", follow, { once: true });
    this.#detach = () => parent?.removeEventListener("abort", follow);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  start(name: string, run: (signal: AbortSignal) => Promise<void>): void {
    const task = run(this.signal).catch((error: unknown) => {
      if (this.signal.aborted && error === this.signal.reason) return;
      this.#failure ??= { error: new Error(`${name} failed`, { cause: error }) };
      this.stop(error);
    });
    this.#running.add(task);
    void task.then(() => this.#running.delete(task));
  }

  /** Aborts the signal of all loops; `join` waits for their end. */
  stop(reason: unknown = new Error("stopped")): void {
    this.#controller.abort(reason);
  }

  async join(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.#detach();
    if (this.#failure) throw this.#failure.error;
  }
}
