import {
  type BrokerLink,
  LinkError,
  type MqttMessage,
  PublishError,
  type Subscription,
} from "../../../agent/fleet/mqtt/link.ts";

/** A link that records sent messages, and answers as the test specifies. */
export class FakeLink implements BrokerLink {
  sessionPresent = false;
  window = 4;
  readonly ended: Promise<LinkError>;
  readonly sent: MqttMessage[] = [];
  readonly subscriptions = new Set<string>();
  /** Acknowledgements that were not given yet. */
  readonly waiting: (() => void)[] = [];
  /** Whether the broker acknowledges by itself. */
  acknowledges = true;
  /** The error with which it rejects a message instead of accepting it. */
  refuse: (message: MqttMessage) => PublishError | undefined = () => undefined;
  /** Whether it ends the connection instead of answering a message. */
  hangUpOn: (message: MqttMessage) => boolean = () => false;
  /** Whether the connection has ended. */
  isOver = false;
  /** The messages that were acknowledged at once. */
  readonly answered: MqttMessage[] = [];
  refuseFilter: (filter: string) => PublishError | undefined = () => undefined;
  #resolveEnded: (error: LinkError) => void = () => {};
  readonly #pending = new Set<(error: PublishError) => void>();

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  publish(message: MqttMessage): Promise<void> {
    const error = this.refuse(message);
    if (error) return Promise.reject(error);
    this.sent.push(message);
    if (this.hangUpOn(message)) queueMicrotask(() => this.abandon(new LinkError("lost", "the broker hung up")));
    else if (this.acknowledges && !this.isOver) {
      this.answered.push(message);
      return Promise.resolve();
    }
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
    this.isOver = true;
    for (const reject of this.#pending) reject(new PublishError("lost", 0, error.message));
    this.#pending.clear();
    this.#resolveEnded(error);
  }

  /** The number of messages that were sent and never acknowledged. */
  get unanswered(): number {
    return this.sent.length - this.answered.length;
  }

  get topics(): readonly string[] {
    return this.sent.map(({ topic }) => topic);
  }

  get payloads(): readonly string[] {
    return this.sent.map(({ payload }) => payload);
  }
}
