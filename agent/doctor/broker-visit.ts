import type { Ambient } from "../base/ambient.ts";
import { deadline, elapsed, type Millis, sleep } from "../base/clock.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";
import { type Link, LinkError, type Opening, PublishError } from "../fleet/link.ts";
import { mqttLinks } from "../fleet/mqtt-link.ts";
import { boardTopic, type Identity, userNameOf } from "../fleet/topics.ts";

export type BrokerAnswer =
  | { readonly connected: false; readonly why: string; readonly hint?: string | undefined }
  | { readonly connected: true; readonly loop: Loop };

/** closed: the message came back. refused: the broker rejected it. lost: acknowledged but not delivered. */
export type Loop =
  | { readonly kind: "closed"; readonly topic: string; readonly took: Millis }
  | { readonly kind: "refused" | "lost"; readonly topic: string; readonly why: string }
  /** Commands for the agent are queued before our message, and are not ours to acknowledge. */
  | { readonly kind: "queued" };

export interface Visit extends Pick<Opening, "url" | "tls" | "sessionExpiry"> {
  readonly identity: Identity;
}

const patience: Millis = 10_000;
const roundTrip: Millis = 5_000;

/**
 * Connects as the agent does, sends a message to this board itself, and disconnects. It may use the agent's own
 * session, as brokers that name clients by certificate allow no other. Queued messages are not acknowledged: they end
 * the connection, and the broker delivers them to the agent again.
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
        // An empty will on the test topic, so that no subscriber notices the visit.
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
