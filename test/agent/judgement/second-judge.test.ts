import { expect, test } from "vitest";
import type { Node } from "../../../agent/api/core.ts";
import type { KubeObject } from "../../../agent/api/meta.ts";
import type { Resource } from "../../../agent/api/resources.ts";
import type { Lister } from "../../../agent/informer/lister.ts";
import { SecondJudge } from "../../../agent/judgement/second-judge.ts";
import { node, taint } from "../../support/builders.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

/** A site whose Nodes others write, and a leader that looks at them. */
class Story {
  readonly clock = new FakeClock();
  readonly log = new RecordingLog();
  readonly boards = new Map<string, Node>();
  readonly fields = new Map<string, object[]>();
  readonly looks: string[] = [];
  readonly stop = new AbortController();
  leads: boolean;
  behind = false;
  fails = false;
  readonly judge: SecondJudge;
  readonly #run: Promise<void>;

  constructor(boards: number, leads = true) {
    this.leads = leads;
    for (let i = 1; i <= boards; i++) this.boards.set(`pi-${i}`, node(`pi-${i}`));
    const lister: Lister<Node> = {
      get: (key) => this.boards.get(key),
      list: () => [...this.boards.values()].values(),
      byIndex: () => [].values(),
      referencesByIndex: () => [].values(),
      indexValues: () => [].values(),
      countByIndex: () => 0,
      size: boards,
    };
    const client = {
      get: async <T extends KubeObject>(_: Resource<T>, { name }: { readonly name: string }): Promise<T> => {
        this.looks.push(name);
        if (this.fails) throw new Error("no answer");
        const { metadata } = this.boards.get(name) ?? node(name);
        const resourceVersion = this.behind ? `${metadata.resourceVersion}0` : metadata.resourceVersion;
        return {
          metadata: { ...metadata, resourceVersion, managedFields: this.fields.get(name) ?? [] },
        } as KubeObject as T;
      },
    };
    const ambient = { clock: this.clock, random: new SeededRandom(), log: this.log };
    this.judge = new SecondJudge(ambient, { client, boards: lister, isJudge: () => this.leads });
    this.#run = this.judge.run(this.stop.signal);
  }

  /** Another client adds a taint, or changes one: its time is another. */
  taints(name: string, manager: string, time: string): void {
    const version = String(Number(this.boards.get(name)?.metadata.resourceVersion ?? 0) + 1);
    this.boards.set(name, node(name, { version, taints: [taint("unreachable:NoExecute", time)] }));
    this.fields.set(name, [{ manager, time, fieldsV1: { "f:spec": { "f:taints": {} } } }]);
  }

  pass(seconds: number): Promise<void> {
    return this.clock.advance(seconds * 1000);
  }

  found(): readonly string[] {
    return this.judge.found(this.clock.now()).map(({ manager, board }) => `${manager} ${board}`);
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.#run;
  }
}

test("a taint that another judge adds to a board is found within a minute, and reported for a day", async () => {
  const site = new Story(3);
  await site.pass(30);
  site.taints("pi-2", "kube-controller-manager", "1");
  expect(site.found()).toEqual([]);
  await site.pass(60);
  expect(site.found()).toEqual(["kube-controller-manager pi-2"]);
  expect(site.log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  await site.pass(86_000);
  expect(site.found()).toEqual(["kube-controller-manager pi-2"]);
  await site.pass(500);
  expect(site.found()).toEqual([]);
  await site.end();
});

test("our own taints, and those from before our term, do not show another judge", async () => {
  const site = new Story(2);
  site.taints("pi-1", "kube-controller-manager", "of old");
  await site.pass(60);
  site.taints("pi-2", "siteward", "2");
  await site.pass(600);
  expect(site.found()).toEqual([]);
  site.taints("pi-1", "kube-controller-manager", "and again");
  await site.pass(60);
  expect(site.found()).toEqual(["kube-controller-manager pi-1"]);
  await site.end();
});

test("a quiet site costs one read every five minutes", async () => {
  const site = new Story(4);
  await site.pass(60);
  expect([...site.looks].sort()).toEqual(["pi-1", "pi-2", "pi-3", "pi-4"]);
  site.looks.length = 0;
  await site.pass(3600);
  expect(site.looks.length).toBeGreaterThan(8);
  expect(site.looks.length).toBeLessThanOrEqual(12);
  expect(new Set(site.looks).size).toBe(4);
  await site.end();
});

test("a board that does not lead reads nothing, and one that leads again starts from scratch", async () => {
  const site = new Story(2, false);
  await site.pass(600);
  expect(site.looks).toEqual([]);
  site.taints("pi-1", "kube-controller-manager", "while another board led");
  site.leads = true;
  await site.pass(120);
  expect(site.found()).toEqual([]);
  await site.end();
});

test("a cache that is behind the answer is waited for: different versions prove nothing", async () => {
  const site = new Story(1);
  await site.pass(30);
  site.behind = true;
  site.taints("pi-1", "kube-controller-manager", "1");
  await site.pass(120);
  expect(site.found()).toEqual([]);
  site.behind = false;
  await site.pass(60);
  expect(site.found()).toEqual(["kube-controller-manager pi-1"]);
  await site.end();
});

test("a finding does not end because the API does not answer or because boards join and leave", async () => {
  const site = new Story(2);
  site.fails = true;
  await site.pass(120);
  site.fails = false;
  site.boards.delete("pi-1");
  site.boards.set("pi-3", node("pi-3"));
  await site.pass(120);
  site.taints("pi-3", "kube-controller-manager", "1");
  await site.pass(60);
  expect(site.found()).toEqual(["kube-controller-manager pi-3"]);
  await site.end();
});
