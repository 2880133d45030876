import { type Link, LinkError, type Message, PublishError, type Subscription } from "../../agent/fleet/link.ts";

/** A link that keeps what was sent, and answers as the test says. */
export class FakeLink implements Link {
  sessionPresent = false;
  window = 4;
  readonly ended: Promise<LinkError>;
  readonly sent: Message[] = [];
  readonly subscriptions = new Set<string>();
  /** Acknowledgements that were not given yet. */
  readonly waiting: (() => void)[] = [];
  /** Whether the broker acknowledges by itself. */
  acknowledges = true;
  /** What it says to a message instead of taking it. */
  refuse: (message: Message) => PublishError | undefined = () => undefined;
  refuseFilter: (filter: string) => PublishError | undefined = () => undefined;
  #resolveEnded: (error: LinkError) => void = () => {};
  readonly #pending = new Set<(error: PublishError) => void>();

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  publish(message: Message): Promise<void> {
    const error = this.refuse(message);
    if (error) return Promise.reject(error);
    this.sent.push(message);
    if (this.acknowledges) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.waiting.push(resolve);
      this.#pending.add(reject);
    });
  }

  async subscribe(filters: readonly Subscription[]): Promise<void> {
    for (const { filter } of filters) {
      const error = this.refuseFilter(filter);
      if (error) throw error;
      this.subscriptions.add(filter);
    }
  }

  async unsubscribe(filter: string): Promise<void> {
    this.subscriptions.delete(filter);
  }

  async close(): Promise<void> {
    this.abandon(new LinkError("stopped", "closed"));
  }

  abandon(error: LinkError): void {
    for (const reject of this.#pending) reject(new PublishError("lost", 0, error.message));
    this.#pending.clear();
    this.#resolveEnded(error);
  }

  get topics(): readonly string[] {
    return this.sent.map(({ topic }) => topic);
  }

  get payloads(): readonly string[] {
    return this.sent.map(({ payload }) => payload);
  }
}
