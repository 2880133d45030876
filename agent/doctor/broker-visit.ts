import type { Ambient } from "../base/ambient.ts";
import { deadline, elapsed, type Millis, sleep } from "../base/clock.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";
import { type Link, LinkError, type Opening, PublishError } from "../fleet/link.ts";
import { mqttLinks } from "../fleet/mqtt-link.ts";
import { boardTopic, type Identity, userNameOf } from "../fleet/topics.ts";

export type BrokerAnswer =
  | { readonly connected: false; readonly why: string; readonly hint?: string | undefined }
  | { readonly connected: true; readonly loop: Loop };

/** closed: it came back. refused: the broker said no. lost: it took the message and delivered nothing. */
export type Loop =
  | { readonly kind: "closed"; readonly topic: string; readonly took: Millis }
  | { readonly kind: "refused" | "lost"; readonly topic: string; readonly why: string }
  /** Commands wait for the agent: they are not ours to acknowledge, and stand before our message. */
  | { readonly kind: "queued" };

export interface Visit extends Pick<Opening, "url" | "tls" | "sessionExpiry"> {
  readonly identity: Identity;
}

const patience: Millis = 10_000;
const roundTrip: Millis = 5_000;

/**
 * A connection as the agent makes it, a message to this board itself, and goodbye. The session may be the agent's own:
 * brokers that name clients by their certificate allow no other. What waits in it is not acknowledged here: the connection
 * ends with it, and it comes again to the agent.
 */
export async function visitBroker(ambient: Ambient, visit: Visit, signal: AbortSignal): Promise<BrokerAnswer> {
  const { clock, random } = ambient;
  const { identity } = visit;
  const topic = boardTopic(identity, "res/_doctor");
  const sent = random.uuid();
  const heard = new AbortController();
  let hasWaiting = false;
  const limit = deadline(
    clock,
    patience,
    signal,
    () => new LinkError("unreachable", "the broker did not answer in time"),
  );
  let link: Link | undefined;
  try {
    link = await mqttLinks(clock)(
      {
        ...visit,
        clientId: userNameOf(identity),
        keepalive: 60_000,
        receiveMaximum: 8,
        maxPacket: 65_536,
        topicAliases: false,
        connectTimeout: patience,
        // Nobody is to hear of this visit, however it ends.
        will: { topic, payload: "", delay: 0 },
        receive: async ({ topic: from, payload }) => {
          if (from === topic) {
            if (new TextDecoder().decode(payload) === sent) heard.abort();
            return;
          }
          hasWaiting = true;
          throw new Error("a command of the agent is not ours to acknowledge");
        },
      },
      limit.signal,
    );
    const loop = await closed(link);
    return { connected: true, loop };
  } catch (error) {
    return { connected: false, why: sentenceOf(error), hint: hintOf(error) };
  } finally {
    limit.dispose();
    await link?.close(2_000);
  }

  async function closed(open: Link): Promise<Loop> {
    const begun = clock.now();
    try {
      await open.subscribe([{ filter: topic, retained: false }]);
      await open.publish({ topic, payload: sent, retain: false, expiry: 30_000 });
    } catch (error) {
      if (hasWaiting) return { kind: "queued" };
      if (error instanceof PublishError && error.kind === "refused")
        return { kind: "refused", topic, why: error.message };
      throw error;
    }
    await sleep(clock, roundTrip, heard.signal);
    const took = elapsed(begun, clock.now());
    await open.unsubscribe(topic).catch(() => undefined);
    if (heard.signal.aborted) return { kind: "closed", topic, took };
    return hasWaiting ? { kind: "queued" } : { kind: "lost", topic, why: "nothing came back" };
  }
}
