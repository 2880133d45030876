import type { Ambient } from "../../base/ambient.ts";
import { deadline, elapsed, type Millis, sleep } from "../../base/clock.ts";
import { hintOf, sentenceOf } from "../../base/errors.ts";
import { type BrokerLink, LinkError, type LinkOptions, PublishError } from "../../fleet/mqtt/link.ts";
import { mqttLinks } from "../../fleet/mqtt/mqtt-link.ts";
import { boardTopic, type FleetIdentity, userNameOf } from "../../fleet/mqtt/topics.ts";

export type BrokerAnswer =
  | { readonly connected: false; readonly why: string; readonly hint?: string | undefined }
  | { readonly connected: true; readonly loop: BrokerRoundTrip };

/**
 * The result of a message that this board sends to itself. closed: the message came back. refused: the broker rejected
 * the topic. lost: the broker acknowledged the message but did not deliver it. queued: the broker first delivers
 * commands queued for the agent, which the doctor must not acknowledge.
 */
export type BrokerRoundTrip =
  | { readonly kind: "closed"; readonly topic: string; readonly took: Millis }
  | { readonly kind: "refused" | "lost"; readonly topic: string; readonly why: string }
  | { readonly kind: "queued" };

export interface Visit extends Pick<LinkOptions, "url" | "tls" | "sessionExpiry"> {
  readonly identity: FleetIdentity;
}

const timeLimit: Millis = 10_000;
/** Longest wait for the message to come back. */
const roundTrip: Millis = 5_000;

/**
 * Connects as the agent does, sends a message to this board itself, and disconnects. The session may be the agent's
 * own, because some brokers take the client id from the certificate. Messages queued for the agent are not
 * acknowledged, so they end the connection, and the broker delivers them to the agent later.
 */
export async function visitBroker(ambient: Ambient, visit: Visit, signal: AbortSignal): Promise<BrokerAnswer> {
  const { clock, random } = ambient;
  const { identity } = visit;
  const topic = boardTopic(identity, "res/_doctor");
  const sent = random.uuid();
  const cameBack = new AbortController();
  let hasWaiting = false;
  const limit = deadline(
    clock,
    timeLimit,
    signal,
    () =>
      new LinkError("unreachable", `the broker ${visit.url.host} does not respond within ${timeLimit / 1000} s`, {
        hint: "Check the link to the broker, its address and port, and that the broker is running.",
      }),
  );
  let link: BrokerLink | undefined;
  try {
    link = await mqttLinks(clock)(
      {
        ...visit,
        clientId: userNameOf(identity),
        keepalive: 60_000,
        receiveMaximum: 8,
        maxPacket: 65_536,
        topicAliases: false,
        connectTimeout: timeLimit,
        // An empty will on the test topic, so that no subscriber notices the visit.
        will: { topic, payload: "", delay: 0 },
        receive: async ({ topic: from, payload }) => {
          if (from === topic) {
            if (new TextDecoder().decode(payload) === sent) cameBack.abort();
            return;
          }
          hasWaiting = true;
          throw new Error("the doctor does not acknowledge messages for the agent");
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

  async function closed(open: BrokerLink): Promise<BrokerRoundTrip> {
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
    await sleep(clock, roundTrip, cameBack.signal);
    const took = elapsed(begun, clock.now());
    await open.unsubscribe(topic).catch(() => undefined);
    if (cameBack.signal.aborted) return { kind: "closed", topic, took };
    return hasWaiting ? { kind: "queued" } : { kind: "lost", topic, why: "nothing came back" };
  }
}
