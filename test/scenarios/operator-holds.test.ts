import { afterEach, describe, expect, test } from "vitest";
import { daemonSets, nodes, pods } from "../../agent/api/resources.ts";
import type { Agent } from "../../agent/assembly/agent.ts";
import type { Author, Effect } from "../../agent/commands/desk/controls.ts";
import { problems } from "../../agent/status/health.ts";
import type { Parts } from "../../agent/status/parts.ts";
import type { Impairment } from "./simulation/edge.ts";
import { realWall, type Setting } from "./simulation/schedule.ts";
import type { SimBoard } from "./simulation/sim-board.ts";
import { Site } from "./simulation/site.ts";
import { type UnlimitedControls, unlimited } from "./unlimited-controls.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const alice: Author = { by: "ops:alice", reason: "radio maintenance CHG-1182" };

/** Boards in two zones on one API server: real agents on virtual time, and an operator's commands. */
class Story {
  readonly site: Site;

  constructor(count = 5, setting: Partial<Setting> = {}) {
    const boards = Array.from({ length: count }, (_, index) => ({
      name: `pi-${index + 1}`,
      number: index + 1,
      zone: index < count - 2 ? "a" : "b",
      pace: 1,
      wall: realWall,
      latency: 3,
      pings: true,
    }));
    const timing = { name: "unhurried", duration: 60_000, renewDeadline: 40_000, retry: 10_000 } as const;
    const rest = {
      policy: "evidence",
      standby: "cold",
      followers: "expiry",
      evictionRate: 0.1,
      maxHarm: undefined,
      selects: false,
      pins: false,
      lan: "none",
    } as const;
    const whole: Setting = { ...rest, timing, boards, ...setting };
    this.site = new Site({ setting: whole, seed: 7, faults: [], calmAt: 0 }, { everything: false });
  }

  async begin(): Promise<this> {
    for (const board of this.site.boards) this.site.time.at(0, () => board.powerOn(realWall));
    this.site.keeper.start();
    await this.run(3 * minute);
    return this;
  }

  run(length: number): Promise<void> {
    return this.site.time.runUntil(this.site.time.now + length);
  }

  get leader(): SimBoard {
    const { leader } = this.site;
    if (!leader?.agent) throw new Error("there is no leader");
    return leader;
  }

  get agent(): Agent {
    const { agent } = this.leader.agent ?? {};
    if (!agent) throw new Error("there is no leader");
    return agent;
  }

  follower(zone = "a"): SimBoard {
    const found = this.site.boards.find(
      ({ plate, isOn }) => isOn && plate.zone === zone && plate !== this.leader.plate,
    );
    if (!found) throw new Error(`there is no follower in zone ${zone}`);
    return found;
  }

  /** A command that the leader executes. */
  async order(act: (controls: UnlimitedControls) => Promise<Effect>, by: Agent = this.agent): Promise<Effect> {
    let effect: Effect | undefined;
    act(unlimited(by.siteControls)).then((answer) => {
      effect = answer;
    });
    for (let waited = 0; effect === undefined && waited < 60; waited++) await this.run(second);
    if (effect === undefined) throw new Error("no answer");
    return effect;
  }

  async done(act: (controls: UnlimitedControls) => Promise<Effect>): Promise<Readonly<Record<string, unknown>>> {
    const effect = await this.order(act);
    if (effect.outcome !== "done") throw new Error(JSON.stringify(effect));
    return effect.result;
  }

  async untilLed(not: string): Promise<void> {
    for (let waited = 0; waited < 300; waited++) {
      await this.run(second);
      const { leader } = this.site;
      const isNew = leader !== undefined && leader.plate.name !== not;
      if (isNew && leader.agent?.agent.elector.view().role === "leader") return;
    }
    throw new Error("no other board leads");
  }

  node(name: string) {
    return JSON.parse(this.site.api.stored(`nodes/${name}`) ?? "{}");
  }

  taints(name: string): readonly string[] {
    const taints: readonly { key: string; effect: string }[] = this.node(name).spec?.taints ?? [];
    return taints.map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`);
  }

  /** Pods with a deletion timestamp: on a dead board no kubelet finishes the deletion. */
  isEvicted(name: string): boolean {
    const text = this.site.api.stored(`pods/default/brief-${name}`);
    return text === undefined || JSON.parse(text).metadata.deletionTimestamp !== undefined;
  }

  /** The uids of the pods on a board. A pod that was evicted and made anew has another one. */
  podsOn(board: string): readonly string[] {
    const all = this.site.api.all("pods/").map((text) => JSON.parse(text));
    return all.filter(({ spec }) => spec.nodeName === board).map(({ metadata }) => metadata.uid);
  }

  get events(): readonly { readonly reason: string; readonly message: string }[] {
    return this.site.api.all("events/").map((text) => JSON.parse(text));
  }

  /** The safety valve in the status of the leader. */
  get valve() {
    const { agent } = this.leader;
    const parts = this.agent.parts(agent?.process.now() ?? { mono: 0, wall: 0 });
    return {
      ...parts.eviction?.valve,
      problems: problems({ ...parts, ...unseen, now: agent?.process.now() ?? unseen.now }),
    };
  }

  /** The pods of these boards that were evicted. */
  evictedFrom(...names: readonly string[]): readonly string[] {
    const all = names.flatMap((name) => ["brief", "short", "long"].map((kind) => `${kind}-${name}`));
    return all.filter((pod) => {
      const text = this.site.api.stored(`pods/default/${pod}`);
      return text === undefined || JSON.parse(text).metadata.deletionTimestamp !== undefined;
    });
  }

  get held() {
    const { leases } = this.site.recorder.history;
    return leases.length > 0
      ? JSON.parse(
          JSON.parse(this.site.api.stored("leases/kube-system/siteward-default") ?? "{}").metadata.annotations[
            "siteward.dev/holds"
          ] ?? "null",
        )
      : undefined;
  }
}

/** The parts of a status that an agent alone does not have. */
const unseen = {
  now: { mono: 0, wall: 0 },
  process: { writeFailures: 0 } as Parts["process"],
  identity: {} as Parts["identity"],
};

let story: Story | undefined;

async function begun(count?: number, setting?: Partial<Setting>): Promise<Story> {
  story = await new Story(count, setting).begin();
  return story;
}

afterEach(() => {
  const complaints = story?.site.recorder.history.complaints;
  story?.site.close();
  story = undefined;
  expect(complaints ?? []).toEqual([]);
});

describe("a freeze", () => {
  test("binds all later leaders, and the last of them can thaw it", async () => {
    const site = await begun(7);
    const first = site.leader;
    const answer = await site.done((controls) => controls.freeze({ scope: "site" }, 2 * hour, alice, false));
    expect(answer).toMatchObject({ scope: "site", queued: 0 });
    expect(site.held.freezes.site).toMatchObject({ by: "ops:alice", reason: "radio maintenance CHG-1182" });
    const victim = site.follower();
    victim.powerOff("none");
    await site.run(5 * minute);
    expect(site.taints(victim.plate.name)).toEqual(["unreachable:NoSchedule"]);
    // The leader loses power, and the next leader's clock shows 1970.
    for (const board of site.site.boards) board.stepClock("1970");
    first.powerOff("all");
    await site.untilLed(first.plate.name);
    await site.run(10 * minute);
    for (const { plate } of [victim, first]) {
      expect(site.taints(plate.name)).toEqual(["unreachable:NoSchedule"]);
      expect(site.isEvicted(plate.name)).toBe(false);
    }
    const second = site.leader.plate.name;
    site.leader.killAgent();
    await site.untilLed(second);
    await site.run(5 * minute);
    expect(site.isEvicted(victim.plate.name)).toBe(false);
    expect(await site.done((controls) => controls.thaw({ scope: "site" }, alice, false))).toMatchObject({
      wasFrozen: true,
    });
    await site.run(5 * minute);
    expect(site.taints(victim.plate.name)).toContain("unreachable:NoExecute");
    expect(site.isEvicted(victim.plate.name)).toBe(true);
    const said = site.events.map(({ reason }) => reason);
    expect(said).toContain("EvictionFrozen");
    expect(said).toContain("EvictionThawed");
    expect(site.events.find(({ reason }) => reason === "EvictionFrozen")?.message).toBe(
      "Evictions from the site frozen for 7200s by ops:alice: radio maintenance CHG-1182",
    );
  });

  test("survives a reboot of the leader and the deletion of its Lease, and never ends too early", async () => {
    const site = await begun(1);
    const [pi] = site.site.boards;
    const frozenAt = site.site.time.now;
    await site.done((controls) => controls.freeze({ scope: "site" }, hour, alice, false));
    await site.run(20 * minute);
    pi?.powerOff("all");
    const url = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";
    const signal = new AbortController().signal;
    expect(site.site.api.handle({ method: "DELETE", path: url, headers: {}, body: "", signal }).status).toBe(200);
    await site.run(minute);
    pi?.powerOn(0);
    await site.run(3 * minute);
    const view = () => site.agent.parts(site.leader.agent?.process.now() ?? { mono: 0, wall: 0 });
    expect(view().holds?.freezes).toMatchObject([{ scope: "site" }]);
    await site.run(frozenAt + hour - site.site.time.now - second);
    const { until } = view().holds?.freezes[0] ?? {};
    expect(until && until.mono - (site.leader.agent?.process.now().mono ?? 0)).toBeGreaterThan(0);
  });

  test("of a zone uses the zone's name in the status, and a freeze of an unknown zone is refused with all zones", async () => {
    const site = await begun();
    const freeze = (target: string) =>
      site.order((controls) => controls.freeze({ scope: "zone", target }, hour, alice, false));
    expect(await freeze("a")).toMatchObject({ outcome: "done", result: { target: "a" } });
    const unknown = { outcome: "refused", code: 404, error: "unknown-zone", result: { known: ["a", "b"] } };
    expect(await freeze("nowhere")).toMatchObject(unknown);
    expect(
      await site.order((controls) => controls.freeze({ scope: "board", target: "pi-99" }, hour, alice, false)),
    ).toMatchObject({ outcome: "refused", code: 404, error: "unknown-board" });
  });

  test("is shown in the status with its end, as is a pause", async () => {
    const site = await begun();
    await site.done((controls) => controls.freeze({ scope: "zone", target: "a" }, hour, alice, false));
    await site.done((controls) => controls.pause("pod-gc", hour, alice, false));
    const now = site.leader.agent?.process.now() ?? { mono: 0, wall: 0 };
    const { holds, controllers } = site.agent.parts(now);
    expect(holds?.freezes).toMatchObject([{ scope: "zone", target: "a", by: "ops:alice", reason: alice.reason }]);
    expect(holds?.pauses).toMatchObject([{ controller: "pod-gc", by: "ops:alice" }]);
    expect((holds?.pauses[0]?.until.mono ?? 0) - now.mono).toBeGreaterThan(hour - minute);
    expect(controllers?.find(({ name }) => name === "pod-gc")?.state).toBe("paused");
    const follower = site.follower().agent;
    expect(follower?.agent.parts(follower.process.now()).holds).toBeUndefined();
  });

  test("can be prolonged by a second freeze; only a thaw can shorten it", async () => {
    const site = await begun();
    const frozenFor = async (ttl: number): Promise<number> => {
      const { until } = await site.done((controls) => controls.freeze({ scope: "site" }, ttl, alice, false));
      return Date.parse(String(until)) - (site.leader.agent?.process.now().wall ?? 0);
    };
    expect(await frozenFor(hour)).toBeGreaterThan(hour - minute);
    expect(await frozenFor(minute)).toBeGreaterThan(hour - minute);
    expect(await frozenFor(2 * hour)).toBeGreaterThan(2 * hour - minute);
    const pausedFor = async (ttl: number): Promise<number> => {
      const { until } = await site.done((controls) => controls.pause("pod-gc", ttl, alice, false));
      return Date.parse(String(until)) - (site.leader.agent?.process.now().wall ?? 0);
    };
    expect(await pausedFor(hour)).toBeGreaterThan(hour - minute);
    expect(await pausedFor(minute)).toBeGreaterThan(hour - minute);
  });

  test("changes nothing in a dry run", async () => {
    const site = await begun();
    expect(await site.done((controls) => controls.freeze({ scope: "site" }, hour, alice, true))).toMatchObject({
      queued: 0,
    });
    expect(site.held).toBeNull();
  });

  test("is refused by a follower, which names the leader", async () => {
    const site = await begun();
    const other = site.follower().agent?.agent;
    if (!other) throw new Error("no agent");
    const effect = await site.order((controls) => controls.freeze({ scope: "site" }, hour, alice, false), other);
    expect(effect).toMatchObject({ outcome: "refused", code: 421, result: { leader: site.leader.plate.name } });
  });
});

describe("a pause", () => {
  test("of a controller stops only that controller, under every leader, until it is resumed", async () => {
    const site = await begun(7);
    await site.done((controls) => controls.pause("taint-eviction", hour, alice, false));
    const first = site.leader;
    const victim = site.follower();
    victim.powerOff("none");
    await site.run(3 * minute);
    first.killAgent();
    await site.untilLed(first.plate.name);
    await site.run(3 * minute);
    expect(site.taints(victim.plate.name)).toContain("unreachable:NoExecute");
    expect(site.isEvicted(victim.plate.name)).toBe(false);
    const state = () => {
      const now = site.leader.agent?.process.now() ?? { mono: 0, wall: 0 };
      return site.agent.parts(now).controllers?.find(({ name }) => name === "taint-eviction")?.state;
    };
    expect(state()).toBe("paused");
    expect(await site.done((controls) => controls.resume("taint-eviction", alice, false))).toMatchObject({
      wasPaused: true,
    });
    await site.run(10 * second);
    expect(state()).toBe("running");
    expect(site.isEvicted(victim.plate.name)).toBe(true);
  });

  test("ends after its time, and all waiting keys are processed", async () => {
    const site = await begun(7);
    await site.done((controls) => controls.pause("node-lifecycle", 10 * minute, alice, false));
    const victim = site.follower();
    victim.powerOff("none");
    await site.run(9 * minute);
    expect(site.taints(victim.plate.name)).toEqual([]);
    await site.run(3 * minute);
    expect(site.taints(victim.plate.name)).toContain("unreachable:NoExecute");
  });

  test("of an unknown controller is refused with the names of all controllers", async () => {
    const site = await begun(2);
    const effect = await site.order((controls) => controls.pause("unknown", hour, alice, false));
    expect(effect).toMatchObject({ outcome: "refused", code: 422, error: "unknown-controller" });
    expect(effect.result?.known).toContain("pod-gc");
  });
});

describe("an operator", () => {
  test("can confirm that a zone is dead, but not one that sends heartbeats", async () => {
    const site = await begun(7);
    const confirm = (zone: string) => site.order((controls) => controls.confirmZoneDead(zone, hour, alice, false));
    expect(await confirm("b")).toMatchObject({
      outcome: "refused",
      code: 409,
      error: "board-alive",
      message: expect.stringMatching(/^not dead: pi-6 (sent a heartbeat \d+m?s ago|leads the site); pi-7 /),
    });
    const dead = site.site.boards.filter(({ plate }) => plate.zone === "b" && plate !== site.leader.plate);
    // The leader may be in that zone, which then never falls silent.
    if (site.leader.plate.zone === "b") return;
    for (const board of dead) board.powerOff("none");
    await site.run(2 * minute);
    expect(await confirm("b")).toMatchObject({ outcome: "done", result: { boards: ["pi-6", "pi-7"] } });
    const now = site.leader.agent?.process.now() ?? { mono: 0, wall: 0 };
    await site.run(10 * second);
    expect(site.agent.parts(now).holds?.confirmed).toMatchObject([{ target: "b", by: "ops:alice" }]);
    await site.run(5 * minute);
    expect(site.isEvicted("pi-6")).toBe(true);
  });

  test("confirms only boards that are silent at that time: those that return are not dead when they fall silent again", async () => {
    // No act is permitted that does not rest on an operator's word.
    const site = await begun(6, { maxHarm: 0 });
    const zone = site.site.boards.filter(({ plate }) => plate.zone === "b");
    if (zone.includes(site.leader)) {
      const { name } = site.leader.plate;
      site.leader.stopAgent();
      await site.untilLed(name);
      site.site.boards.find(({ plate }) => plate.name === name)?.startAgent();
    }
    const [back, gone] = zone;
    if (!back || !gone) throw new Error("the zone has no boards");
    const dead = (name: string) => site.taints(name).includes("unreachable:NoExecute");
    for (const board of zone) board.powerOff("none");
    await site.run(3 * minute);
    await site.done((controls) => controls.confirmZoneDead("b", 12 * hour, alice, false));
    back.powerOn(realWall);
    await site.run(10 * minute);
    expect([dead(back.plate.name), dead(gone.plate.name)]).toEqual([false, true]);
    const first = site.leader.plate.name;
    site.leader.killAgent();
    await site.untilLed(first);
    back.powerOff("none");
    await site.run(30 * minute);
    expect([dead(back.plate.name), dead(gone.plate.name)]).toEqual([false, true]);
    expect(site.valve.heldOn).toEqual([back.plate.name]);
  });

  test("can withdraw the confirmation of a zone, which binds the next leaders too", async () => {
    const site = await begun(6, { maxHarm: 0 });
    const zone = site.site.boards.filter(({ plate }) => plate.zone === "b");
    if (zone.includes(site.leader)) {
      const { name } = site.leader.plate;
      site.leader.stopAgent();
      await site.untilLed(name);
    }
    await site.done((controls) => controls.freeze({ scope: "site" }, hour, alice, false));
    for (const board of zone) board.powerOff("none");
    await site.run(3 * minute);
    const withdraw = (name: string, dryRun = false) =>
      site.order((controls) => controls.unconfirmZoneDead(name, alice, dryRun));
    expect(await withdraw("nowhere")).toMatchObject({ outcome: "refused", error: "unknown-zone" });
    expect(await withdraw("b")).toMatchObject({ outcome: "done", result: { zone: "b", wasConfirmed: false } });
    await site.done((controls) => controls.confirmZoneDead("b", 12 * hour, alice, false));
    expect(await withdraw("b", true)).toMatchObject({ result: { wasConfirmed: true } });
    expect(Object.keys(site.held.confirmed)).toEqual(["b"]);
    expect(await withdraw("b")).toMatchObject({ result: { zone: "b", wasConfirmed: true } });
    expect(site.held.confirmed).toEqual({});
    expect(site.events.map(({ reason }) => reason)).toContain("ZoneConfirmationWithdrawn");
    await site.done((controls) => controls.thaw({ scope: "site" }, alice, false));
    const first = site.leader.plate.name;
    site.leader.killAgent();
    await site.untilLed(first);
    await site.run(15 * minute);
    for (const { plate } of zone) expect(site.taints(plate.name)).toEqual(["unreachable:NoSchedule"]);
  });

  test("cannot confirm a board dead if it returns before the order is carried out", async () => {
    const site = await begun(7);
    const victim = site.follower();
    const { name } = victim.plate;
    victim.powerOff("none");
    await site.run(2 * minute);
    const mend = site.leader.agentEdge.impair({ is: "slow", delay: 10 * second }, "late");
    victim.powerOn(realWall);
    const effect = await site.order((controls) => controls.confirmBoardDead(name, alice, false));
    expect(effect).toMatchObject({ outcome: "refused", code: 409, error: "board-alive", result: { boards: [name] } });
    mend();
    await site.run(2 * minute);
    expect(site.taints(name)).toEqual([]);
    expect(site.events.map(({ reason }) => reason)).not.toContain("BoardConfirmedDead");
  });

  test("can confirm that a board is dead, and harms none of its pods if it comes back while the links are down", async () => {
    const site = await begun(7);
    const victim = site.follower();
    const { name } = victim.plate;
    await site.done((controls) => controls.freeze({ scope: "site" }, 2 * hour, alice, false));
    victim.powerOff("none");
    await site.run(2 * minute);
    const { leader } = site;
    const before = site.podsOn(name);
    void unlimited(site.agent.siteControls).confirmBoardDead(name, alice, false);
    while (!site.taints(name).includes("out-of-service:NoExecute")) await site.run(1);
    const [mend, mendLater] = [leader.agentEdge, victim.kubeletEdge].map((edge) =>
      edge.impair({ is: "refused" }, "reset"),
    );
    victim.powerOn(realWall);
    await site.run(25 * second);
    mend?.();
    await site.run(15 * second);
    mendLater?.();
    await site.run(3 * minute);
    expect(site.leader).toBe(leader);
    expect(site.podsOn(name)).toEqual(before);
    expect(site.taints(name)).toEqual([]);
    expect(site.events.map(({ reason }) => reason)).toContain("BoardBackInService");
  });

  test("can confirm that a board is dead: its pods are force-deleted, and its next heartbeat returns it to service", async () => {
    const site = await begun(7);
    const victim = site.follower();
    const { name } = victim.plate;
    const confirm = () => site.order((controls) => controls.confirmBoardDead(name, alice, false));
    expect(await confirm()).toMatchObject({ outcome: "refused", code: 409, error: "board-alive" });
    await site.done((controls) => controls.freeze({ scope: "site" }, 2 * hour, alice, false));
    victim.powerOff("none");
    await site.run(2 * minute);
    expect(await confirm()).toMatchObject({ outcome: "done", result: { board: name, changed: true } });
    expect(await confirm()).toMatchObject({ outcome: "done", result: { changed: false } });
    await site.run(minute);
    expect(site.taints(name)).toContain("out-of-service:NoExecute");
    // The operator's own command is not held back by the freeze.
    expect(site.isEvicted(name)).toBe(true);
    const first = site.leader;
    first.killAgent();
    await site.untilLed(first.plate.name);
    await site.run(5 * minute);
    expect(site.taints(name)).toContain("out-of-service:NoExecute");
    victim.powerOn(realWall);
    await site.run(minute);
    expect(site.taints(name)).toEqual([]);
    expect(site.node(name).metadata.annotations?.["siteward.dev/out-of-service"]).toBeUndefined();
    expect(site.events.map(({ reason }) => reason)).toContain("BoardBackInService");
  });
});

describe("a leader that steps down on command", () => {
  const standsBy = (site: Story, name: string) => {
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    return site.agent.client.patch(nodes, { name }, "merge", patch, { signal: new AbortController().signal });
  };

  test("is followed by the named board, which must be a standby", async () => {
    const site = await begun(5);
    const first = site.leader;
    const to = site.follower().plate.name;
    const stepDown = () =>
      site.order((controls) => controls.stepDown(to, 10 * minute, alice, false), first.agent?.agent);
    expect(await stepDown()).toMatchObject({ outcome: "refused", code: 409, error: "not-ready" });
    void standsBy(site, to);
    await site.run(minute);
    expect(await stepDown()).toMatchObject({ outcome: "done", result: { to } });
    expect(first.agent?.agent.elector.view().role).toBe("follower");
    // Until the named board reads the Lease, no board leads, and the former leader says so.
    const reported = () => {
      const now = first.agent?.process.now() ?? unseen.now;
      return problems({ ...first.agent?.agent.parts(now), ...unseen, now });
    };
    for (let waited = 0; waited < 300 && site.site.leader === undefined; waited++) {
      expect(reported().map(({ severity, type }) => `${severity} ${type}`)).toEqual(["info NotStanding"]);
      expect(reported()[0]?.hint).toMatch(/^as ordered: no other board has taken the Lease yet/);
      await site.run(second);
    }
    await site.untilLed(first.plate.name);
    expect(site.leader.plate.name).toBe(to);
  });

  test("does not lead again before the hold-off ends, even after a restart", async () => {
    const site = await begun(2);
    const first = site.leader;
    const other = site.site.boards.find((board) => board !== first);
    await site.done((controls) => controls.stepDown(undefined, 20 * minute, alice, false));
    await site.untilLed(first.plate.name);
    first.killAgent();
    await site.run(second);
    first.startAgent();
    await site.run(10 * minute);
    expect(site.leader).toBe(other);
    expect(first.agent?.agent.elector.view()).toMatchObject({
      role: "follower",
      notStanding: "asked to step down by ops:alice",
      orderedUntil: expect.anything(),
    });
    await site.run(10 * minute);
    other?.powerOff("none");
    await site.run(5 * minute);
    expect(first.agent?.agent.elector.view().role).toBe("leader");
  });

  test("leads again if no other board does, even after a restart, and says so in its answer", async () => {
    const site = await begun(2);
    const [pi, other] = [site.leader, site.follower(site.leader.plate.name === "pi-1" ? "b" : "a")];
    void standsBy(site, other.plate.name);
    await site.run(minute);
    const answer = (dryRun: boolean) => site.done((controls) => controls.stepDown(undefined, hour, alice, dryRun));
    expect(await answer(true)).toMatchObject({ standby: other.plate.name, leadsAgainAfterMs: 140_000 });
    void site.agent.client.patch(
      nodes,
      { name: other.plate.name },
      "merge",
      { metadata: { annotations: { "siteward.dev/standby": "stopped" } } },
      { signal: new AbortController().signal },
    );
    other.powerOff("none");
    await site.run(minute);
    expect(await answer(false)).toMatchObject({ standby: null, leadsAgainAfterMs: 140_000 });
    await site.run(minute);
    pi.killAgent();
    await site.run(second);
    pi.startAgent();
    await site.run(2 * minute);
    expect(pi.agent?.agent.elector.view()).toMatchObject({ role: "follower", isLeaderless: true });
    await site.run(minute);
    expect(pi.agent?.agent.elector.view().role).toBe("leader");
    // A power cut does not bring the rest back.
    pi.powerOff("all");
    await site.run(minute);
    pi.powerOn(realWall);
    await site.run(minute);
    expect(pi.agent?.agent.elector.view().role).toBe("leader");
  });
});

describe("a board that is unwell", () => {
  test("hands the Lease only to a standby", async () => {
    const site = await begun(3);
    const first = site.leader;
    let since: { mono: number; wall: number } | undefined;
    const sickness = () => since && { why: "undervolted", since };
    first.agent?.agent.heed({ sickness, quietHoursAt: () => undefined });
    since = first.agent?.process.now();
    await site.run(5 * minute);
    expect(site.leader).toBe(first);
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    const to = site.follower("b").plate.name;
    void site.agent.client.patch(nodes, { name: to }, "merge", patch, { signal: new AbortController().signal });
    await site.untilLed(first.plate.name);
    expect(first.agent?.agent.elector.view().notStanding).toMatch(/undervolted/);
  });
});

describe("a leader whose watches fail while it renews the Lease", () => {
  const problems = ({ agent }: SimBoard) =>
    agent?.agent.parts(agent.process.now()).problems?.filter(({ type }) => type === "LeaderDeaf");

  test("leaves the Lease to a standby, which notices the silent boards", async () => {
    const site = await begun(4);
    const first = site.leader;
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    const [to, victim] = [site.follower("b").plate.name, site.follower("a")];
    void site.agent.client.patch(nodes, { name: to }, "merge", patch, { signal: new AbortController().signal });
    await site.run(minute);
    first.agentEdge.impair({ is: "watches refused" }, "late");
    victim.powerOff("none");
    await site.run(minute);
    expect(site.leader).toBe(first);
    await site.untilLed(first.plate.name);
    expect(first.agent?.agent.elector.view().ended?.why).toMatch(/^its watches of boards have .* is a standby$/);
    await site.run(3 * minute);
    expect(site.taints(victim.plate.name)).toContain("unreachable:NoSchedule");
  });

  test("leaves it even to a board that announced its standby after the watches had failed", async () => {
    const site = await begun(4);
    const first = site.leader;
    const [to, dead] = [site.follower("b"), site.follower("a")];
    first.agentEdge.impair({ is: "watches refused" }, "late");
    await site.run(4 * minute);
    expect(problems(first)).toMatchObject([{ type: "LeaderDeaf" }]);
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    const signal = new AbortController().signal;
    void site.agent.client.patch(nodes, dead.plate, "merge", patch, { signal });
    const status = { status: { conditions: [{ type: "Ready", status: "False" }] } };
    dead.powerOff("none");
    void site.agent.client.patch(nodes, { name: dead.plate.name, subresource: "status" }, "merge", status, { signal });
    await site.run(10 * minute);
    expect(site.leader).toBe(first);
    void site.agent.client.patch(nodes, to.plate, "merge", patch, { signal });
    await site.run(2 * minute);
    await site.untilLed(first.plate.name);
    expect(site.leader).toBe(to);
    const why = first.agent?.agent.elector.view().ended?.why;
    expect(why).toMatch(new RegExp(`^its watches of boards have .* ${to.plate.name} is a standby$`));
  });

  test("leaves it even if Nodes can only be read one at a time and the standby announced itself late", async () => {
    const site = await begun(4);
    const first = site.leader;
    const to = site.follower("b");
    first.agentEdge.impair({ is: "collection refused", path: "/api/v1/nodes" }, "late");
    first.agentEdge.reset("the connection was reset");
    await site.run(4 * minute);
    expect(problems(first)).toMatchObject([{ type: "LeaderDeaf" }]);
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    void site.agent.client.patch(nodes, to.plate, "merge", patch, { signal: new AbortController().signal });
    await site.untilLed(first.plate.name);
    expect(site.leader).toBe(to);
  });

  test("leaves it if watches are accepted but deliver nothing, regardless of lists in between", async () => {
    const site = await begun(4);
    const first = site.leader;
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    const to = site.follower("b").plate.name;
    void site.agent.client.patch(nodes, { name: to }, "merge", patch, { signal: new AbortController().signal });
    await site.run(minute);
    first.agentEdge.impair({ is: "watches stalled" }, "late");
    await site.untilLed(first.plate.name);
    expect(first.agent?.agent.elector.view().ended?.why).toMatch(/^its watches of boards have .* is a standby$/);
  });

  test.each<[string, Impairment]>([
    ["lists of Nodes are refused", { is: "collection refused", path: "/api/v1/nodes" }],
    [
      "lists of Leases are refused",
      { is: "collection refused", path: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases" },
    ],
    ["lists of Nodes are delayed", { is: "collection refused", path: "/api/v1/nodes", retryAfter: 30 }],
  ])("leaves it if even its first %s", async (_, impairment) => {
    story = new Story(3);
    const site = story;
    const [first, ...others] = site.site.boards;
    if (!first) throw new Error("the site has no boards");
    first.agentEdge.impair(impairment, "late");
    site.site.time.at(0, () => first.powerOn(realWall));
    for (const board of others) site.site.time.at(20 * second, () => board.powerOn(realWall));
    site.site.keeper.start();
    await site.run(30 * second);
    expect(site.leader).toBe(first);
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    for (const { plate } of others)
      void site.agent.client.patch(nodes, plate, "merge", patch, { signal: new AbortController().signal });
    await site.untilLed(first.plate.name);
    expect(first.agent?.agent.elector.view().ended?.why).toMatch(/^its watches of boards have delivered nothing new/);
    await site.run(2 * minute);
    expect(problems(site.leader)).toEqual([]);
  });

  test("reports its failed watches even if the server delays its very first ones", async () => {
    story = new Story(1);
    const site = story;
    const [first] = site.site.boards;
    if (!first) throw new Error("the site has no boards");
    const mend = first.agentEdge.impair({ is: "watches refused", retryAfter: 30 }, "late");
    first.powerOn(realWall);
    await site.run(3 * minute);
    expect(site.leader).toBe(first);
    expect(problems(first)).toMatchObject([{ type: "LeaderDeaf" }]);
    mend();
    await site.run(2 * minute);
    expect(problems(first)).toEqual([]);
  });

  test("keeps it if there is no standby, and reports that until the watches work again", async () => {
    const site = await begun(1);
    const first = site.leader;
    const mend = first.agentEdge.impair({ is: "watches refused" }, "late");
    await site.run(10 * minute);
    expect(site.leader).toBe(first);
    expect(problems(first)).toMatchObject([{ severity: "critical" }]);
    mend();
    await site.run(2 * minute);
    expect(problems(first)).toEqual([]);
  });
});

describe("a leader that receives heartbeats but cannot act", () => {
  const unable = ({ agent }: SimBoard) =>
    agent?.agent.parts(agent.process.now()).problems?.filter(({ type }) => type === "LeaderUnable");
  const standBy = (site: Story, boards: readonly SimBoard[]): void => {
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    for (const { plate } of boards)
      void site.agent.client.patch(nodes, plate, "merge", patch, { signal: new AbortController().signal });
  };
  const refused = (method: string, path: string, status = 503): Impairment => ({
    is: "requests refused",
    method,
    path,
    status,
  });

  test.each<[string, string, readonly Impairment[], RegExp]>([
    ["taint a board", "a", [refused("PATCH", "/api/v1/nodes")], /patch nodes/],
    ["delete pods", "a", [refused("DELETE", "/api/v1/namespaces/", 500)], /delete pods/],
    ["read what it deletes", "a", [refused("GET", "/api/v1/namespaces/"), refused("GET", "/api/v1/pods")], /pods/],
  ])("leaves the Lease to a standby if it cannot %s", async (_, zone, impairments, why) => {
    const site = await begun(5);
    const first = site.leader;
    const [to, victim] = [site.follower("b"), site.follower(zone)];
    standBy(site, [to]);
    await site.run(minute);
    for (const impairment of impairments) first.agentEdge.impair(impairment, "late");
    first.agentEdge.reset("the connection was reset");
    victim.powerOff("none");
    await site.run(2 * minute);
    await site.untilLed(first.plate.name);
    expect(first.agent?.agent.elector.view().ended?.why).toMatch(why);
    await site.run(10 * minute);
    expect(site.isEvicted(victim.plate.name)).toBe(true);
  });

  test("reports that and keeps the Lease if there is no standby", async () => {
    const site = await begun(5);
    const first = site.leader;
    const mend = first.agentEdge.impair(refused("PATCH", "/api/v1/nodes"), "late");
    site.follower("a").powerOff("none");
    await site.run(6 * minute);
    expect(site.leader).toBe(first);
    expect(unable(first)).toMatchObject([
      { severity: "warning", message: expect.stringMatching(/none of its requests to patch nodes\S* has succeeded/) },
    ]);
    mend();
    await site.run(2 * minute);
    expect(unable(first)).toEqual([]);
  });

  test("passes the Lease on at most once an hour for each board if every server is at fault", async () => {
    const site = await begun(5);
    const victim = site.follower("a");
    standBy(site, site.site.boards);
    await site.run(minute);
    for (const board of site.site.boards) board.agentEdge.impair(refused("PATCH", "/api/v1/nodes"), "late");
    victim.powerOff("none");
    const leaders: string[] = [site.leader.plate.name];
    for (let waited = 0; waited < 240; waited++) {
      await site.run(15 * second);
      const name = site.site.leader?.plate.name;
      if (name !== undefined && name !== leaders.at(-1)) leaders.push(name);
    }
    expect(leaders.length).toBeGreaterThan(1);
    expect(leaders.length).toBeLessThanOrEqual(5);
  });
});

describe("a leader whose caches are not in sync with the site", () => {
  test("names the controllers that do nothing yet, and what they wait for, a minute after its term began", async () => {
    story = new Story(1);
    const site = story;
    const [first] = site.site.boards;
    if (!first) throw new Error("the site has no boards");
    const late = () =>
      first.agent?.agent
        .parts(first.agent.process.now())
        .problems?.filter(({ type }) => type === "ControllersNotStarted")
        .map(({ message }) => message);
    const mend = first.agentEdge.impair({ is: "collection refused", path: "/api/v1/pods" }, "late");
    first.powerOn(realWall);
    await site.run(50 * second);
    expect(site.leader).toBe(first);
    expect(late()).toEqual([]);
    await site.run(minute);
    expect(late()).toEqual([expect.stringMatching(/taint-eviction[^()]* \(waiting for pods\)/)]);
    expect(late()?.join()).not.toMatch(/node-taints/);
    mend();
    await site.run(2 * minute);
    expect(late()).toEqual([]);
  });
});

describe("a leader that crashes soon after each start", () => {
  /** The leader crashes 20 s after each start, and is restarted 6 s later. */
  async function crashes(board: SimBoard, site: Story, times: number): Promise<void> {
    for (let crash = 0; crash < times; crash++) {
      board.killAgent();
      await site.run(6 * second);
      board.startAgent();
      await site.run(20 * second);
    }
  }

  const lead = (board: SimBoard) => board.agent?.agent.elector.view().role;

  test("leaves the Lease to a standby, and leads again once no other board leads", async () => {
    const site = await begun(3);
    const first = site.leader;
    const other = site.follower("b");
    const patch = { metadata: { annotations: { "siteward.dev/standby": "ready" } } };
    void site.agent.client.patch(nodes, { name: other.plate.name }, "merge", patch, {
      signal: new AbortController().signal,
    });
    await site.run(10 * minute);
    await crashes(first, site, 3);
    // The first crash came after a long term; since then two terms have broken.
    expect(lead(first)).toBe("leader");
    await crashes(first, site, 1);
    expect(first.agent?.agent.elector.view()).toMatchObject({
      role: "follower",
      notStanding: "its last 3 terms ended with a crash or a power cut within 5m",
    });
    expect(first.agent?.agent.unwell).toMatch(/its last 3 terms/);
    const freed = site.site.time.now;
    await site.untilLed(first.plate.name);
    expect(site.site.time.now - freed).toBeLessThan(2.2 * minute);

    for (const board of site.site.boards) if (board !== first) board.powerOff("none");
    await site.run(5 * minute);
    expect(lead(first)).toBe("leader");
    await site.run(5 * minute);
    expect(first.agent?.agent.unwell).toBeUndefined();
  });

  test("keeps it if there is no standby", async () => {
    const site = await begun(1);
    const first = site.leader;
    for (let crash = 0; crash < 6; crash++) {
      await crashes(first, site, 1);
      expect(lead(first)).toBe("leader");
    }
  });
});

describe("quiet hours", () => {
  test("hold back all evictions", async () => {
    const site = await begun(7);
    let isQuiet = true;
    for (const { agent } of site.site.boards) {
      agent?.agent.heed({
        sickness: () => undefined,
        quietHoursAt: () => (isQuiet ? { until: undefined, why: "quiet hours" } : undefined),
      });
    }
    const victim = site.follower();
    victim.powerOff("none");
    await site.run(30 * minute);
    expect(site.taints(victim.plate.name)).toEqual(["unreachable:NoSchedule"]);
    isQuiet = false;
    await site.run(2 * minute);
    expect(site.isEvicted(victim.plate.name)).toBe(true);
  });
});

describe("the Node of a board", () => {
  test("that receives the command is cordoned and uncordoned even if another board leads", async () => {
    const site = await begun(3);
    const follower = site.follower("b");
    const agent = follower.agent?.agent;
    if (!agent) throw new Error("no agent");
    const { name } = follower.plate;
    const cordon = (is: boolean) => site.order((controls) => controls.cordon(undefined, is, alice, false), agent);
    expect(await cordon(true)).toMatchObject({ outcome: "done", result: { board: name, changed: true } });
    expect(site.node(name).spec.unschedulable).toBe(true);
    expect(await cordon(true)).toMatchObject({ outcome: "done", result: { changed: false } });
    expect(await cordon(false)).toMatchObject({ outcome: "done", result: { changed: true } });
    expect(site.node(name).spec.unschedulable).toBeUndefined();
    expect(site.events.map(({ reason }) => reason)).toContain("BoardCordoned");
  });

  test("of another board is cordoned only by the leader", async () => {
    const site = await begun(3);
    const { name } = site.follower("b").plate;
    expect(await site.done((controls) => controls.cordon(name, true, alice, false))).toMatchObject({ changed: true });
    const other = site.follower("b").agent?.agent;
    if (!other) throw new Error("no agent");
    const effect = await site.order((controls) => controls.cordon("pi-1", true, alice, false), other);
    expect(effect).toMatchObject({ outcome: "refused", code: 421 });
  });

  test("is drained: daemon pods are kept, disruption budgets are respected until the deadline, and a command cancels it", async () => {
    const site = await begun(3);
    site.site.keeper.stop();
    const agent = site.follower("b").agent?.agent;
    const { name } = site.follower("b").plate;
    if (!agent) throw new Error("no agent");
    const { signal } = new AbortController();
    const drain = (force: boolean, by = signal, progress: (done: object) => void = () => {}) =>
      site.order((controls) => controls.drain({ timeout: 30 * second, force }, alice, progress, by), agent);
    // Pods without an owner would not be recreated.
    expect(await drain(false)).toMatchObject({ outcome: "refused", code: 409, error: "unmanaged-pods" });
    expect(site.node(name).spec.unschedulable).toBeUndefined();
    const labels = { app: "logs" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "main:1" }] } };
    const logs = {
      ...{ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "logs", namespace: "default" } },
      spec: { selector: { matchLabels: labels }, template, updateStrategy: { type: "OnDelete" } },
    };
    const created = agent.client.create(daemonSets, "default", logs, { signal });
    await site.run(second);
    const { uid } = (await created).metadata;
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "logs", uid, controller: true };
    const daemon = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "logs-x", namespace: "default", labels, ownerReferences: [owner] },
      spec: { nodeName: name, containers: [{ name: "main", image: "main:1" }] },
    };
    void agent.client.create(pods, "default", daemon, { signal });
    await site.run(second);
    const progress: object[] = [];
    const effect = await drain(true, signal, (done) => progress.push(done));
    expect(effect).toMatchObject({ outcome: "done", result: { board: name, evicted: 4, skipped: 1, left: 0 } });
    // An operator's own acts do not count for the safety valve.
    expect(site.valve).toMatchObject({ acts: 0 });
    expect(progress.length).toBeGreaterThan(0);
    expect(site.site.api.all("pods/default/").filter((text) => JSON.parse(text).spec.nodeName === name)).toHaveLength(
      1,
    );
    expect(site.node(name).spec.unschedulable).toBe(true);
  });

  test("is no longer drained once a command uncordons it", async () => {
    const site = await begun(3);
    site.site.keeper.stop();
    const agent = site.follower("b").agent?.agent;
    const { name } = site.follower("b").plate;
    if (!agent) throw new Error("no agent");
    const { signal } = new AbortController();
    // A finalizer keeps this pod, so that the drain cannot end.
    const kept = {
      ...{ apiVersion: "v1", kind: "Pod" },
      metadata: { name: "kept", namespace: "default", finalizers: ["siteward.dev/test"] },
      spec: { nodeName: name, containers: [{ name: "main", image: "main:1" }] },
    };
    void agent.client.create(pods, "default", kept, { signal });
    await site.run(second);
    const drain = agent.siteControls.drain({ timeout: 60 * minute, force: true }, alice, () => {}, signal);
    await site.run(3 * minute);
    expect(agent.siteControls.draining()).toMatchObject({ board: name, by: alice.by, evicted: 5, left: 1 });
    const uncordon = (dryRun: boolean) => site.order((by) => by.cordon(undefined, false, alice, dryRun), agent);
    await uncordon(true);
    await site.run(minute);
    expect(agent.siteControls.draining()).toBeDefined();
    expect(await uncordon(false)).toMatchObject({ outcome: "done", result: { changed: true } });
    await site.run(second);
    expect(await drain).toMatchObject({ outcome: "failed", code: 409, error: "uncordoned", result: { left: 1 } });
    expect(agent.siteControls.draining()).toBeUndefined();
    expect(site.node(name).spec.unschedulable).toBeUndefined();
  });

  test("is drained although the link to the API is down for a while", async () => {
    const site = await begun(3);
    site.site.keeper.stop();
    const board = site.follower("b");
    const agent = board.agent?.agent;
    const { time } = site.site;
    time.at(time.now + 2 * second, () => {
      const heal = board.agentEdge.impair({ is: "refused" }, "reset");
      time.at(time.now + 20 * second, heal);
    });
    const { signal } = new AbortController();
    const options = { timeout: 10 * minute, force: true };
    const effect = await site.order((controls) => controls.drain(options, alice, () => {}, signal), agent);
    expect(effect).toMatchObject({ outcome: "done", result: { board: board.plate.name, left: 0 } });
    expect(site.events.map(({ reason }) => reason)).toContain("BoardDrained");
  });
});

describe("the safety valve", () => {
  /**
   * Two of the five boards of a zone burn. A dead board costs four acts, and six are permitted, of which one is kept for
   * taints.
   */
  async function burning(): Promise<{ site: Story; dead: readonly string[] }> {
    const site = await begun(7, { maxHarm: 6 });
    const dead = site.site.boards.filter(({ plate }) => plate.name !== site.leader.plate.name).slice(0, 2);
    for (const board of dead) board.powerOff("none");
    await site.run(6 * minute);
    return { site, dead: dead.map(({ plate }) => plate.name) };
  }

  const harmDone = (site: Story, dead: readonly string[]): number =>
    site.evictedFrom(...dead).length +
    dead.filter((name) => site.taints(name).includes("unreachable:NoExecute")).length;

  test("stops a leader at the limit, makes the site critical, and says what is held", async () => {
    const { site, dead } = await burning();
    expect(harmDone(site, dead)).toBe(5);
    expect(site.valve).toMatchObject({ acts: 5, limit: 6, kept: 1, boards: 2, mostBoards: 3 });
    expect(site.valve.problems.find(({ type }) => type === "SafetyValveShut")).toMatchObject({ severity: "critical" });
    expect(site.valve.heldOn?.every((name) => dead.includes(name))).toBe(true);
    expect(site.events.map(({ reason }) => reason)).toContain("SafetyValveShut");
    const records = site.agent.decisions.newest(undefined, 100).map((text) => JSON.parse(text));
    const held = records.filter(({ state }) => state === "held");
    expect(held.map(({ act, restraints }) => [act, restraints.at(-1).why, restraints.at(-1).limit])).toEqual(
      Array.from({ length: 3 }, () => ["pod-evicted", "valve", 6]),
    );
  });

  /** A tenant's pods, which tolerate no dead board; bound to these boards by turns, or to none. */
  async function createPods(site: Story, count: number, boards: readonly string[]): Promise<void> {
    const post = (path: string, object: object): void => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ apiVersion: "v1", ...object });
      const { status } = site.site.api.handle({
        method: "POST",
        path,
        headers,
        body,
        signal: new AbortController().signal,
      });
      if (status !== 201) throw new Error(`${path}: ${status}`);
    };
    post("/api/v1/namespaces", { kind: "Namespace", metadata: { name: "tenant" } });
    for (let pod = 0; pod < count; pod++) {
      const nodeName = boards[pod % boards.length];
      const spec = { containers: [{ name: "main", image: "main:1" }], ...(nodeName !== undefined && { nodeName }) };
      const tolerations = ["not-ready", "unreachable"].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 0,
      }));
      const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "uid-web", controller: true };
      const name = `${nodeName ?? "pending"}-${pod}`;
      const metadata = { name, namespace: "tenant", ownerReferences: [owner] };
      post("/api/v1/namespaces/tenant/pods", { kind: "Pod", metadata, spec: { ...spec, tolerations } });
    }
    await site.run(minute);
  }

  test("keeps its hour open for other boards and namespaces, however many pods of a tenant tolerate no dead board", async () => {
    const site = await begun(7);
    const dead = site.site.boards.filter(({ plate }) => plate.name !== site.leader.plate.name).slice(0, 2);
    const names = dead.map(({ plate }) => plate.name);
    await createPods(site, 12, names.slice(0, 1));
    for (const board of dead) board.powerOff("none");
    await site.run(4 * minute);
    const evictedOfTenant = site.site.api
      .all("pods/tenant/")
      .filter((text) => JSON.parse(text).metadata.deletionTimestamp !== undefined);
    expect(evictedOfTenant).toHaveLength(3);
    for (const name of names) {
      expect(site.taints(name)).toContain("unreachable:NoExecute");
      expect(site.evictedFrom(name).length).toBeGreaterThan(0);
    }
    // Two taints and five pods: a namespace leaves the last act for pods to the others.
    expect(site.valve).toMatchObject({ acts: 7, limit: 10, kept: 2 });
    expect(site.valve.usedBy).toEqual([
      { namespace: "tenant", acts: 3 },
      { namespace: "default", acts: 2 },
    ]);
    // Ten minutes later a board of the other zone dies.
    await site.run(10 * minute);
    const third = site.follower("b");
    third.powerOff("none");
    await site.run(3 * minute);
    expect(site.taints(third.plate.name)).toContain("unreachable:NoExecute");
  });

  test("has the same limit, however many pods a tenant creates that no kubelet takes up", async () => {
    const site = await begun(7);
    await createPods(site, 200, []);
    expect(site.valve).toMatchObject({ acts: 0, limit: 10 });
  });

  test("stays exhausted under the next leaders, and an operator can lift it for a time", async () => {
    const { site, dead } = await burning();
    const first = site.leader.plate.name;
    site.leader.killAgent();
    await site.untilLed(first);
    await site.run(4 * minute);
    expect(harmDone(site, dead)).toBe(5);
    expect(site.valve.heldSince).toBeDefined();
    // A thaw is another order.
    await site.done((controls) => controls.thaw({ scope: "site" }, alice, false));
    await site.run(minute);
    expect(harmDone(site, dead)).toBe(5);
    const planned = await site.done((controls) => controls.releaseValve(10 * minute, alice, true));
    expect(planned).toMatchObject({ wasHolding: true });
    expect(site.held?.release).toBeUndefined();
    await site.done((controls) => controls.releaseValve(10 * minute, alice, false));
    expect(site.held.release).toMatchObject({ left: 589, by: "ops:alice", reason: "radio maintenance CHG-1182" });
    const second = site.leader.plate.name;
    site.leader.killAgent();
    await site.untilLed(second);
    await site.run(4 * minute);
    expect(harmDone(site, dead)).toBe(8);
    expect(site.valve.acts).toBe(8);
    expect(site.valve.heldSince).toBeUndefined();
    expect(site.events.map(({ reason }) => reason)).toContain("SafetyValveReleased");
    // Afterwards the acts of the hour count, and further boards wait.
    await site.run(10 * minute);
    const third = site.follower("b");
    third.powerOff("none");
    await site.run(5 * minute);
    expect(site.taints(third.plate.name)).toEqual(["unreachable:NoSchedule"]);
    expect(site.valve.heldSince).toBeDefined();
  });

  test("holds again at once when its release is withdrawn, also under the next leader", async () => {
    const { site, dead } = await burning();
    const rearm = (dryRun: boolean) => site.done((controls) => controls.rearmValve(alice, dryRun));
    expect(await rearm(false)).toEqual({ wasReleased: false });
    await site.done((controls) => controls.freeze({ scope: "site" }, 2 * minute, alice, false));
    await site.done((controls) => controls.releaseValve(hour, alice, false));
    expect(await rearm(true)).toEqual({ wasReleased: true });
    expect(site.held.release).toBeDefined();
    expect(await rearm(false)).toEqual({ wasReleased: true });
    expect(site.held.release).toBeUndefined();
    expect(site.events.map(({ reason }) => reason)).toContain("SafetyValveRearmed");
    const first = site.leader.plate.name;
    site.leader.killAgent();
    await site.untilLed(first);
    await site.run(6 * minute);
    expect(harmDone(site, dead)).toBe(5);
    expect(site.valve.heldSince).toBeDefined();
  });

  test("stays exhausted if its release is withdrawn while that is still on its way to the Lease", async () => {
    const { site, dead } = await burning();
    const mend = site.leader.agentEdge.impair({ is: "slow", delay: 3 * second }, "late");
    let release: Effect | undefined;
    unlimited(site.agent.siteControls)
      .releaseValve(hour, alice, false)
      .then((effect) => {
        release = effect;
      });
    await site.run(second);
    expect(await site.done((controls) => controls.rearmValve(alice, false))).toEqual({ wasReleased: true });
    expect(release).toMatchObject({ outcome: "done" });
    mend();
    await site.run(6 * minute);
    expect(site.held.release).toBeUndefined();
    expect(harmDone(site, dead)).toBe(5);
    expect(site.valve.heldSince).toBeDefined();
  });

  test("opens by itself as acts become older than an hour", async () => {
    const { site, dead } = await burning();
    await site.run(50 * minute);
    expect(harmDone(site, dead)).toBe(5);
    await site.run(12 * minute);
    expect(harmDone(site, dead)).toBe(8);
    expect(site.valve.heldSince).toBeUndefined();
  });

  test("keeps its count when the Lease is deleted and another board leads", async () => {
    const { site, dead } = await burning();
    const url = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";
    const signal = new AbortController().signal;
    site.site.api.handle({ method: "DELETE", path: url, headers: {}, body: "", signal });
    await site.run(10 * minute);
    expect(harmDone(site, dead)).toBe(5);
    expect(site.valve).toMatchObject({ acts: 5, limit: 6 });
  });

  test("does not limit acts on boards that an operator confirmed dead", async () => {
    const site = await begun(6, { maxHarm: 0 });
    const burnt = site.site.boards.filter(({ plate }) => plate.zone === "b");
    if (burnt.some(({ plate }) => plate.name === site.leader.plate.name)) {
      const { name } = site.leader.plate;
      site.leader.stopAgent();
      await site.untilLed(name);
    }
    for (const board of burnt) board.powerOff("none");
    await site.run(3 * minute);
    const names = burnt.map(({ plate }) => plate.name);
    expect(harmDone(site, names)).toBe(0);
    await site.done((controls) => controls.confirmZoneDead("b", hour, alice, false));
    await site.run(10 * minute);
    expect(harmDone(site, names)).toBe(8);
    expect(site.valve).toMatchObject({ acts: 0 });
  });

  test("does not limit acts on a single board that an operator confirmed dead, and is not exhausted by them", async () => {
    const site = await begun(6, { maxHarm: 0 });
    const victim = site.follower();
    const { name } = victim.plate;
    const reported = () => site.valve.problems.map(({ type }) => type);
    victim.powerOff("none");
    await site.run(3 * minute);
    expect(harmDone(site, [name])).toBe(0);
    expect(reported()).toContain("SafetyValveShut");
    await site.done((controls) => controls.confirmBoardDead(name, alice, false));
    await site.run(3 * minute);
    expect(site.taints(name)).toEqual(expect.arrayContaining(["out-of-service:NoExecute", "unreachable:NoExecute"]));
    expect(harmDone(site, [name])).toBe(4);
    expect(site.valve).toMatchObject({ acts: 0, boards: 0 });
    expect(site.valve.heldSince).toBeUndefined();
    expect(reported()).not.toContain("SafetyValveShut");
  });

  test("is not the reason for a hold while the zone of the board allows no taints: a release would not help", async () => {
    const site = await begun(5, { maxHarm: 0 });
    const victims = site.site.boards.filter(({ plate }) => plate.zone === "a" && plate.name !== site.leader.plate.name);
    for (const board of victims.slice(0, 2)) board.powerOff("none");
    await site.run(3 * minute);
    const records = site.agent.decisions.newest(undefined, 100).map((text) => JSON.parse(text));
    const held = records.filter(({ act, state }) => act === "board-tainted" && state === "held");
    expect(held.map(({ restraints }) => restraints.at(-1).why)).toEqual(["zone", "zone"]);
    const found = site.valve.problems.map(({ type }) => type);
    expect(found).toContain("ZoneDisrupted");
    expect(found).not.toContain("SafetyValveShut");
  });

  test("does not exist under policy kubernetes", async () => {
    const site = await begun(3, { policy: "kubernetes", maxHarm: 0 });
    const rearm = await site.order((controls) => controls.rearmValve(alice, false));
    expect(rearm).toMatchObject({ outcome: "refused", code: 409, error: "no-valve" });
    const victim = site.follower("b").plate.name;
    site.site.boards.find(({ plate }) => plate.name === victim)?.powerOff("none");
    await site.run(5 * minute);
    expect(site.isEvicted(victim)).toBe(true);
    expect(site.valve.acts).toBeUndefined();
    const refusal = await site.order((controls) => controls.releaseValve(minute, alice, false));
    expect(refusal).toMatchObject({ outcome: "refused", code: 409, error: "no-valve" });
  });
});
