import { hintOf, sentenceOf } from "../../base/errors.ts";
import type { Config } from "../../config/settings.ts";
import { type CheckResult, fail, ok, skip } from "../check-result.ts";
import { credentialFile } from "../credential-places.ts";
import { configOf, type Patient } from "../patient.ts";
import type { BrokerAnswer } from "./broker-visit.ts";

const aclHint = "siteward broker-acl prints the lines that the broker needs for this board.";

/** The checks of the broker, which share one connection. */
export class BrokerChecks {
  readonly #patient: Patient;
  #answer: Promise<BrokerAnswer> | undefined;

  constructor(patient: Patient) {
    this.#patient = patient;
  }

  /** Checks the TLS connection, and that the broker speaks MQTT 5. */
  async tls(): Promise<CheckResult> {
    const config = configOf(this.#patient);
    const reason = this.#reasonNotToAsk(config);
    if (config === undefined || reason !== undefined) return skip(reason ?? "");
    const live = this.#liveLink();
    if (live?.state === "up") return ok(`${config.mqtt.url}: the agent is connected, session ${live.session}`);
    const answer = await this.#visit(config);
    return answer.connected ? ok(`${config.mqtt.url}: MQTT 5`) : fail(answer.why, answer.hint);
  }

  /**
   * Checks the ACL by sending a message to the board itself. A SUBACK would not be enough, because some brokers grant
   * any filter, but do not deliver what the ACL forbids.
   */
  async acl(): Promise<CheckResult> {
    const config = configOf(this.#patient);
    const reason = this.#reasonNotToAsk(config);
    if (config === undefined || reason !== undefined) return skip(reason ?? "");
    if (this.#liveLink()?.state === "up")
      return skip("the agent is connected, and this check would end its connection; systemctl stop siteward first");
    const answer = await this.#visit(config);
    return answer.connected ? checkLoop(answer.loop) : skip("the broker was not reached (mqtt.tls)");
  }

  #reasonNotToAsk(config: Config | undefined): string | undefined {
    if (config === undefined) return "the configuration cannot be read";
    return config.mqtt.url === undefined ? "no fleet is configured (mqtt.url)" : undefined;
  }

  #liveLink() {
    const { status } = this.#patient;
    return status?.isFresh ? status.status.link?.mqtt : undefined;
  }

  #visit(config: Config): Promise<BrokerAnswer> {
    this.#answer ??= this.#go(config);
    return this.#answer;
  }

  async #go({ mqtt, site, board }: Config): Promise<BrokerAnswer> {
    const { ambient, signal } = this.#patient;
    // Loaded only here, because most of the MQTT code is not needed without a broker.
    const [{ visitBroker }, { readCredentials }] = await Promise.all([
      import("./broker-visit.ts"),
      import("../../fleet/mqtt/credentials.ts"),
    ]);
    const identity = { fleet: mqtt.fleet ?? "", site: site.name, board: board.name };
    const url = new URL(mqtt.url ?? "");
    try {
      const files = {
        certificate: credentialFile(mqtt.certificate, "mqtt.crt", this.#patient),
        key: credentialFile(mqtt.key, "mqtt.key", this.#patient),
        ca: credentialFile(mqtt.ca, "mqtt-ca.crt", this.#patient),
      };
      const tls = url.protocol === "mqtts:" ? readCredentials(files, identity) : undefined;
      return await visitBroker(ambient, { url, tls, identity, sessionExpiry: mqtt.sessionExpiry }, signal);
    } catch (error) {
      return { connected: false, why: sentenceOf(error), hint: hintOf(error) };
    }
  }
}

export function checkLoop(loop: Extract<BrokerAnswer, { readonly connected: true }>["loop"]): CheckResult {
  switch (loop.kind) {
    case "closed":
      return ok(`a message to ${loop.topic} came back after ${Math.round(loop.took)} ms`);
    case "refused":
      return fail(`${loop.why}: this board is not allowed to publish to that topic`, aclHint);
    case "lost":
      return fail(
        `the broker acknowledged a message to ${loop.topic} but did not deliver it: this board is not allowed to read that topic`,
        aclHint,
      );
    case "queued":
      return skip("commands are queued for the agent, which must receive them first");
    default:
      return loop satisfies never;
  }
}
