import { beforeEach, expect, test } from "vitest";
import { parseYaml } from "../../../agent/config/yaml.ts";
import type { Deed } from "../../../simulator/scenarios/scenario.ts";
import { readScenario } from "../../../simulator/scenarios/scenario-reader.ts";
import { Story } from "../../../simulator/scenarios/story.ts";
import type { BoardPicture, PodPicture, SitePicture } from "../../../simulator/view/site-picture.ts";
import { FakeClock, millis } from "../../support/fake-clock.ts";

let clock: FakeClock;
let site: SitePicture;
let done: string[];
let said: string[];

beforeEach(() => {
  clock = new FakeClock();
  site = {
    apiUp: true,
    leader: { board: "pi-1", term: 3 },
    zones: [],
    boards: [board("pi-1", "zone-a"), board("pi-2", "zone-b"), board("pi-3", "zone-a")],
    pods: [pod("web-1", "pi-1"), pod("web-2", "pi-2"), pod("web-3", "pi-3")],
    daemons: [],
    services: [],
  };
  done = [];
  said = [];
});

test("actions happen at their times, to the named boards", async () => {
  const failures = await play(
    `
steps:
  - { at: 10s, do: { power-off: zone-a } }
  - { at: 20s, do: { power-on: hit } }
  - { at: 30s, do: { cut: leader } }
  - { at: 40s, do: { restart: api, for: 2s } }
`,
    "1m",
  );
  expect(failures).toBe(0);
  expect(done).toEqual(["10s power-off pi-1 pi-3", "20s power-on pi-1 pi-3", "30s cut pi-1", "40s restart "]);
  expect(said).toContain("do power-off zone-a (pi-1, pi-3)");
  expect(said).toContain("do restart api for 2s");
});

test("an expectation with a deadline may be met until the last moment", async () => {
  const story = "steps: [{ at: 1s, expect: { not-ready: pi-2, within: 10s } }]";
  at("11s", () => change("pi-2", { ready: "Unknown" }));
  expect(await play(story, "1m")).toBe(0);
  expect(said).toEqual(["ok not-ready pi-2 after 10s"]);
});

test("a late expectation fails, and the story reports the actual state", async () => {
  at("11500ms", () => change("pi-2", { ready: "Unknown" }));
  expect(await play("steps: [{ at: 1s, expect: { not-ready: pi-2, within: 10s } }]", "1m")).toBe(1);
  expect(said).toEqual(["FAILED not-ready pi-2 within 10s: pi-2 Ready"]);
});

test("an expectation with a duration fails at the first moment at which it does not hold", async () => {
  at("5s", () => change("pi-3", { taints: ["unreachable:NoExecute"] }));
  at("6s", () => change("pi-3", { taints: [] }));
  expect(await play("steps: [{ at: 1s, expect: { not-tainted: all, for: 10s } }]", "1m")).toBe(1);
  expect(said).toEqual(["FAILED not-tainted all: pi-3 tainted NoExecute"]);
});

test("a NoSchedule taint does not evict pods, and does not count as tainted", async () => {
  change("pi-3", { taints: ["unreachable:NoSchedule"] });
  expect(await play("steps: [{ at: 1s, expect: { not-tainted: all } }]", "1m")).toBe(0);
});

test("evicted and kept refer to the pods at the time of the action, not to their successors", async () => {
  at("5s", () => {
    site = { ...site, pods: [...site.pods.filter(({ board }) => board !== "pi-3"), pod("web-3", "pi-2", "another")] };
  });
  const failures = await play(
    `
workloads: [{ name: web }]
steps:
  - { at: 1s, do: { power-off: pi-3 } }
  - { at: 1s, expect: { kept: pi-3 } }
  - { at: 1s, expect: { evicted: hit, within: 10s } }
  - { at: 1s, expect: { kept: [pi-1, pi-2], for: 20s } }
  - { at: 8s, expect: { kept: web } }
`,
    "1m",
  );
  expect(failures).toBe(1);
  expect(said).toContain("ok evicted hit after 4s");
  expect(said).toContain("ok kept pi-1 pi-2 for 20s");
  expect(said).toContain("FAILED kept web: default/web-3 deleted or terminating");
});

test("served refers to the current pods of services, and a rollout is complete only if it is complete on every board", async () => {
  const daemon = { name: "monitor", boards: 3, ready: 3, updated: 3, rolled: true };
  site = { ...site, services: [{ name: "web", ready: 3 }], daemons: [daemon] };
  at("5s", () => {
    const pods = site.pods.map((one) => (one.board === "pi-3" ? { ...one, served: false } : one));
    site = { ...site, pods, daemons: [{ ...daemon, ready: 2, rolled: false }] };
  });
  const failures = await play(
    `
daemons: [{ name: monitor }]
steps:
  - { at: 0s, expect: { served: all, rolled: monitor } }
  - { at: 1s, do: { roll: monitor } }
  - { at: 1s, expect: { not-served: pi-3, within: 10s } }
  - { at: 1s, expect: { served: [pi-1, pi-2], for: 10s } }
  - { at: 7s, expect: { rolled: monitor } }
  - { at: 8s, expect: { served: pi-3 } }
`,
    "1m",
  );
  expect(failures).toBe(2);
  expect(said.filter((line) => line.startsWith("FAILED"))).toEqual([
    "FAILED rolled monitor: monitor not rolled out",
    "FAILED served pi-3: default/web-3 not served",
  ]);
  expect(done).toEqual(["1s roll "]);
});

test("the pod of a daemon is not expected to leave a lost board", async () => {
  site = {
    ...site,
    pods: [pod("web-3", "pi-3"), { ...pod("monitor-3", "pi-3"), workload: undefined, daemon: "monitor" }],
  };
  at("5s", () => {
    site = { ...site, pods: site.pods.filter(({ daemon }) => daemon !== undefined) };
  });
  expect(await play("steps: [{ at: 1s, expect: { evicted: pi-3, within: 10s } }]", "1m")).toBe(0);
});

test("a change of the leader is compared with the leader at the action before", async () => {
  at("9s", () => {
    site = { ...site, leader: { board: "pi-2", term: 4 } };
  });
  const failures = await play(
    `
steps:
  - { at: 0s, expect: { leader: pi-1, term: 3 } }
  - { at: 1s, do: { power-off: leader } }
  - { at: 2s, expect: { leader: same, term: same, for: 5s } }
  - { at: 2s, expect: { leader: changed, term: next, within: 10s } }
  - { at: 12s, expect: { leader: none } }
`,
    "1m",
  );
  expect(failures).toBe(1);
  expect(said.filter((line) => line.startsWith("FAILED"))).toEqual(["FAILED leader none: pi-2 leads"]);
});

test("a story about pods that never existed proves nothing and fails", async () => {
  site = { ...site, pods: [] };
  expect(await play("steps: [{ at: 1s, expect: { kept: all, evicted: pi-1 } }]", "1m")).toBe(2);
});

test("an interrupted story has failed in its open expectations", async () => {
  const ended = new AbortController();
  at("5s", () => ended.abort());
  const story = `
steps:
  - { at: 1s, expect: { not-ready: pi-2, within: 10s } }
  - { at: 20s, do: { cut: pi-1 } }
  - { at: 30s, expect: { ready: all } }
`;
  expect(await play(story, "1m", ended.signal)).toBe(2);
  expect(done).toEqual([]);
});

async function play(text: string, limit: string, signal = new AbortController().signal): Promise<number> {
  const { steps } = readScenario("story.yaml", parseYaml(text));
  const begun = clock.now().mono;
  const perform = (deed: Deed, boards: readonly string[]): void => {
    done.push(`${(clock.now().mono - begun) / 1000}s ${deed.verb} ${boards.join(" ")}`);
  };
  const stage = { picture: () => site, perform };
  let failures: number | undefined;
  void new Story({ clock }, { steps, stage, say: (line) => said.push(line) }).run(signal).then((count) => {
    failures = count;
  });
  await clock.until(() => failures !== undefined, limit);
  return failures ?? -1;
}

const at = (time: string, happen: () => void): unknown => clock.after(millis(time), happen);

function change(name: string, to: Partial<BoardPicture>): void {
  site = { ...site, boards: site.boards.map((one) => (one.name === name ? { ...one, ...to } : one)) };
}

function board(name: string, zone: string): BoardPicture {
  return {
    name,
    zone,
    power: "on",
    link: "up",
    ready: "True",
    taints: [],
    cordoned: false,
    agent: "running",
    memory: undefined,
    report: undefined,
  };
}

function pod(name: string, board: string, uid = name): PodPicture {
  return {
    key: `default/${name}`,
    uid,
    workload: "web",
    daemon: undefined,
    board,
    phase: "Running",
    unplaced: false,
    ready: true,
    served: true,
    ending: false,
  };
}
