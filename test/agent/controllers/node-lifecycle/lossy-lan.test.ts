import { afterEach, describe, expect, test } from "vitest";
import { examine, type NodeHealth } from "../../../../agent/controllers/node-lifecycle/health.ts";
import type { NodeLifecycleSettings } from "../../../../agent/controllers/node-lifecycle/settings.ts";
import { noHolds } from "../../../../agent/holds/holds.ts";
import { permitsHarm, type Verdict } from "../../../../agent/judgement/verdict.ts";
import { Answerer } from "../../../../agent/witness/answerer.ts";
import { BoardKey } from "../../../../agent/witness/board-key.ts";
import { Calibration } from "../../../../agent/witness/calibration.ts";
import { KubeletHealth } from "../../../../agent/witness/kubelet-health.ts";
import { Questioner } from "../../../../agent/witness/questioner.ts";
import { node } from "../../../support/builders.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { LanInMemory, networkOf } from "../../witness/lan-in-memory.ts";
import { defaults } from "../site-model.ts";

const port = 10270;
const noFile = { read: () => undefined, write: () => {} };

const stories: LossySite[] = [];
afterEach(async () => {
  for (const story of stories.splice(0)) await story.end();
});

/** A leader, pi-0, and boards that it asks over a LAN that loses datagrams. The link of pi-1 to the API server is cut. */
class LossySite {
  readonly clock = new FakeClock();
  /** The verdicts on pi-1, and whether they permit harm, one for each pass of the leader. */
  readonly #passes: { readonly at: number; readonly verdict: Verdict["verdict"]; readonly isHarm: boolean }[] = [];
  readonly #lan = new LanInMemory();
  readonly #random: SeededRandom;
  readonly #ending = new AbortController();
  readonly #power = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #keys = new Map(["pi-1", "pi-2", "pi-3"].map((name) => [name, BoardKey.kept(noFile, new RecordingLog())]));
  readonly #questioner: Questioner;
  readonly #cutAt: number;
  readonly #settings: NodeLifecycleSettings;
  #health: NodeHealth | undefined;

  constructor(seed: number, gracePeriod = 50_000) {
    this.#settings = { ...defaults, policy: "evidence", ownNode: "pi-0", gracePeriod };
    stories.push(this);
    this.#random = new SeededRandom(seed);
    const { clock } = this;
    const ambient = { clock, log: new RecordingLog(), random: new SeededRandom(seed) };
    const site = "plant";
    this.#questioner = new Questioner(ambient, {
      lan: this.#lan.of("192.168.7.1"),
      paths: () => networkOf,
      everyoneOn: () => [],
      addresses: () => [],
      site,
      calibration: new Calibration(),
      askGateway: () => Promise.resolve(false),
    });
    for (const [board, key] of this.#keys) {
      const kubelet = new KubeletHealth(ambient, { ask: () => Promise.resolve("ok"), file: noFile, bootId: "boot" });
      const lan = this.#lan.of(this.#address(board));
      const power = board === "pi-1" ? this.#power : this.#ending;
      this.#running.push(
        new Answerer(ambient, { lan, port, site, board, bootId: "boot", key, kubelet }).run(power.signal),
      );
    }
    this.#cutAt = clock.now().mono;
    const targets = {
      inDoubt: () => (2000 * this.now >= gracePeriod ? ["pi-1"] : []),
      others: () => this.#keys.keys(),
      announced: (name: string) => {
        const key = this.#keys.get(name)?.publicText;
        return key === undefined ? undefined : { key, port, addresses: [this.#address(name)] };
      },
      reportedBoot: () => undefined,
    };
    this.#running.push(this.#questioner.run(targets, this.#ending.signal));
  }

  /** From now on, so many datagrams are lost, in each direction. */
  lose(share: number): void {
    this.#lan.loses = () => this.#random.next() < share;
  }

  die(): void {
    this.#power.abort();
  }

  async run(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 5) {
      this.#judge();
      await this.clock.advance(5000);
    }
  }

  /** When harm became permitted, in seconds since the link was cut. */
  get harmed(): readonly number[] {
    const begins = this.#passes.filter(({ isHarm }, index) => isHarm && !this.#passes[index - 1]?.isHarm);
    return begins.map(({ at }) => at);
  }

  get verdict(): Verdict["verdict"] | undefined {
    return this.#passes.at(-1)?.verdict;
  }

  get now(): number {
    return (this.clock.now().mono - this.#cutAt) / 1000;
  }

  async end(): Promise<void> {
    this.#ending.abort();
    this.#power.abort();
    await Promise.all(this.#running);
  }

  #address(board: string): string {
    return `192.168.7.${board.slice(3)}0`;
  }

  #judge(): void {
    const now = this.clock.now();
    const link = { live: true, notLiveSince: undefined, restoredAt: undefined, proof: { nodes: now, leases: now } };
    const lan = this.#questioner.wordOf("pi-1");
    const { health, verdict } = examine(
      this.#health,
      { node: node("pi-1"), cached: "1", lease: "7", lan },
      { link, holds: noHolds, settings: this.#settings, now },
    );
    this.#health = health;
    const isHarm = this.now > this.#settings.gracePeriod / 1000 && permitsHarm(verdict, "evidence");
    this.#passes.push({ at: this.now, verdict: verdict.verdict, isHarm });
  }
}

const running: readonly (readonly [share: number, hours: number, seed: number])[] = [
  [0, 1, 1],
  [0.3, 6, 1],
  [0.4, 1, 1],
  [0.4, 1, 2],
  [0.4, 1, 3],
];

describe("a running board that has lost its link and answers on a LAN", () => {
  test.each(running)(
    "that loses %d of the datagrams in each direction is not harmed in %d h",
    async (share, hours, seed) => {
      const site = new LossySite(seed);
      await site.run(40);
      site.lose(share);
      await site.run(3600 * hours);
      expect(site.harmed).toEqual([]);
    },
  );

  test.each([
    [0, 130],
    [0.3, 165],
  ])("and dies is found lost after some minutes, if the LAN loses %d", async (share, seconds) => {
    const site = new LossySite(1);
    await site.run(40);
    site.lose(share);
    await site.run(300);
    site.die();
    const died = site.now;
    await site.run(60);
    expect(site.verdict).toBe("unproven");
    await site.run(seconds - 40);
    expect(site.verdict).toBe("lost");
    expect(site.harmed.map((at) => at - died)).toEqual([expect.closeTo(seconds, -1)]);
  });
});

test.each([
  [10, "lost"],
  [15, "unproven"],
] as const)(
  "a board that answered and died %i s after its last heartbeat is %s a minute later, if it may be silent for 16 s",
  async (died, verdict) => {
    const site = new LossySite(1, 16_000);
    await site.run(died);
    site.die();
    await site.run(60);
    expect(site.verdict).toBe(verdict);
  },
);

test("a board that dies without having answered since its last heartbeat is found lost after a minute", async () => {
  const site = new LossySite(1);
  await site.run(10);
  site.die();
  await site.run(50);
  expect(site.verdict).not.toBe("lost");
  await site.run(10);
  expect(site.verdict).toBe("lost");
});
