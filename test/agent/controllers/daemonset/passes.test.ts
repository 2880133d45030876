import { describe, expect, test } from "vitest";
import { controllerRevisions, daemonSets, nodes, pods } from "../../../../agent/api/resources.ts";
import { PostponedError } from "../../../../agent/base/postponed.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { daemonSet } from "../../../../agent/controllers/daemonset/controller.ts";
import { decide, decideAfterWrites } from "../../../../agent/controllers/daemonset/decide.ts";
import { newRevision, presentHash } from "../../../../agent/controllers/daemonset/history.ts";
import { firstMemory, type SetMemory } from "../../../../agent/controllers/daemonset/memory.ts";
import type { SetState } from "../../../../agent/controllers/daemonset/pass.ts";
import type { Outcome } from "../../../../agent/execution/actions.ts";
import type { Decision, SiteView } from "../../../../agent/loop/controller.ts";
import { lifecycleSettings } from "../../../replay/settings.ts";
import { refusal } from "../../../support/small-api.ts";
import { countedSite } from "../counted-site.ts";
import { DaemonSite, knownOf, podOf, revisionOf, set } from "./support/daemon-site.ts";

/*
 * What stands as cases in test/cases/DP is not repeated here. This is about what a case cannot say: caches that are
 * behind, writes that fail half-way, sets that are not what they seem.
 */

describe("a cache that is behind", () => {
  test("a created pod that the cache does not show yet is not created again", async () => {
    const site = new DaemonSite();
    const { api } = site.site;
    api.informer(pods).onChange((changes) => {
      for (const { key, after } of changes) if (after) api.show(pods, key, false);
    });
    site.boards("n1");
    site.put(set());
    await site.begin();
    for (let second = 1; second <= 30; second++) {
      const { metadata } = site.set;
      site.put({ ...site.set, metadata: { ...metadata, annotations: { look: String(second) } } });
      await site.run(second * 1000);
    }
    expect(site.pods).toEqual(["agent-1"]);
  });

  test("a deleted set does not adopt any pod", async () => {
    const site = new DaemonSite();
    site.boards("n1");
    const { ownerReferences: _, ...orphaned } = podOf(set(), "n1").metadata;
    site.put(set(), { ...podOf(set(), "n1"), metadata: orphaned });
    site.site.api.unanswered.add("default/agent");
    await site.begin();
    expect(site.writes("patch")).toEqual([]);
    expect(site.site.api.find(pods, "default/on-n1")?.metadata.ownerReferences).toBeUndefined();
  });

  test("the unbound (Pending) pod of a Node that left the site is deleted, but not that of a deleted Node", async () => {
    const site = new DaemonSite();
    const waiting = podOf(set(), "n2", { name: "waiting" });
    const { nodeName: _, ...unbound } = waiting.spec ?? { containers: [] };
    site.boards("n1", "n2");
    site.put(set(), revisionOf(set()), podOf(set(), "n1"), { ...waiting, spec: unbound });
    site.site.api.show(nodes, "n2", false);
    await site.begin();
    expect(site.pods).toEqual(["on-n1", "waiting"]);
    site.site.api.remove(nodes, "n2");
    site.put({ ...site.set, metadata: { ...site.set.metadata, annotations: { look: "again" } } });
    await site.run(1000);
    expect(site.pods).toEqual(["on-n1"]);
  });
});

describe("if the name of a new revision is already used", () => {
  test("by another template, the collision is counted, and another name is used", async () => {
    const site = new DaemonSite();
    site.boards("n1");
    const name = `agent-${atOnce(presentHash(set()))}`;
    site.put(set(), {
      ...revisionOf(set({ image: "other" }), 1, name),
      metadata: { name, namespace: "default", uid: "u", resourceVersion: "1" },
    });
    await site.begin();
    await site.run(5000);
    expect(site.set.status?.collisionCount).toBe(1);
    const made = site.site.api.all(controllerRevisions).filter(({ metadata }) => metadata.name !== name);
    expect(made.map(({ metadata }) => metadata.name)).toEqual([`agent-${atOnce(presentHash(site.set))}`]);
    expect(site.pods).toEqual(["agent-1"]);
  });

  test("by the same revision, which the cache does not show yet, that revision is used and no other is created", async () => {
    const site = new DaemonSite();
    site.boards("n1");
    site.put(set(), revisionOf(set()));
    site.site.api.show(controllerRevisions, `default/agent-${atOnce(presentHash(set()))}`, false);
    await site.begin();
    expect(site.pods).toEqual(["agent-1"]);
    expect(site.writes("create")).toEqual(["pod/default/agent-1"]);
    expect(site.set.status?.collisionCount).toBeUndefined();
  });
});

describe("a pass that cannot be completed", () => {
  const work = (more: Partial<Extract<SetState, { kind: "work" }>> = {}): SetState => ({
    kind: "work",
    set: set(),
    boards: [{ name: "n1", run: true, stay: true }],
    vanished: [],
    pods: [],
    history: { present: [], old: [], made: atOnce(newRevision(set())) },
    claims: [],
    expected: new Map(),
    ...more,
  });
  const now = { mono: 0, wall: 0 };
  const failing = ({ actions }: Decision<SetMemory>): readonly Outcome[] =>
    actions.map((action) => ({ action, ok: false, error: new Error("no") }));
  const passing = ({ actions }: Decision<SetMemory>): readonly Outcome[] =>
    actions.map((action) => ({ action, ok: true }));
  const done = ({ actions }: Decision<SetMemory>): readonly string[] =>
    actions.map((action) => (action.do === "create" ? `create ${action.resource.kind}` : action.do));

  test("without the revision does not create pods, because their template would be unknown", () => {
    const first = decide(work(), firstMemory, now);
    expect(done(first)).toEqual(["create ControllerRevision"]);
    expect(decideAfterWrites(first, failing(first), now).actions).toEqual([]);
    const second = decideAfterWrites(first, passing(first), now);
    expect(done(second)).toEqual(["create Pod"]);
    const third = decideAfterWrites(second, passing(second), now);
    expect(done(third)).toEqual(["event", "patch"]);
    const last = decideAfterWrites(third, passing(third), now);
    expect(last.actions).toEqual([]);
    expect(last.memory.pass).toBeUndefined();
  });

  test("ends after the claims, which are written first", () => {
    const claim = {
      do: "patch",
      target: { resource: pods, namespace: "default", name: "p", uid: "u" },
      type: "strategic",
      patch: {},
    } as const;
    const first = decide(work({ claims: [claim] }), firstMemory, now);
    expect(first.actions).toEqual([claim]);
    expect(decideAfterWrites(first, passing(first), now).actions).toEqual([]);
  });

  test("writes only the status while writes are expected, without marking the generation as observed", () => {
    const behind = set({ generation: 2 });
    const expected = new Map([["u", { key: "default/p", version: "5", at: now }]]);
    const first = decide(
      work({ set: behind, history: { present: [knownOf(behind)], old: [] }, expected }),
      firstMemory,
      now,
    );
    expect(first.actions).toMatchObject([
      { do: "patch", subresource: "status", patch: { status: { desiredNumberScheduled: 1 } } },
    ]);
    expect(JSON.stringify(first.actions)).not.toContain("observedGeneration");
    expect(decideAfterWrites(first, passing(first), now).requeueAfter).toBe(2000);
  });

  test("deletes old revisions only after a pass whose pods could be created", () => {
    const limited = set({ revisionHistoryLimit: 0 });
    const old = knownOf(limited, revisionOf(set({ image: "old" }), 1, "agent-old"));
    const first = decide(
      work({ set: limited, history: { present: [knownOf(limited, revisionOf(limited, 2))], old: [old] } }),
      firstMemory,
      now,
    );
    expect(done(decideAfterWrites(first, failing(first), now))).toEqual(["event", "patch"]);
    expect(done(decideAfterWrites(first, passing(first), now))).toEqual(["event", "delete", "patch"]);
  });

  test("soon retries the writes that the safety valve held, and does not emit an Event about a failure", () => {
    const held = new PostponedError("the safety valve holds the act");
    const known = work({ history: { present: [knownOf(set())], old: [] } });
    const first = decide(known, firstMemory, now);
    const outcomes = (error: Error): readonly Outcome[] =>
      first.actions.map((action) => ({ action, ok: false, error }));
    const second = decideAfterWrites(first, outcomes(held), now);
    expect(done(second)).toEqual(["patch"]);
    expect(decideAfterWrites(second, passing(second), now).requeueAfter).toBe(5000);
    expect(done(decideAfterWrites(first, outcomes(new Error("no")), now))).toEqual(["event", "patch"]);
  });

  test("does not retry a terminating namespace for five minutes", () => {
    const ending = Object.assign(new Error("ending"), { causes: [{ reason: "NamespaceTerminating" }] });
    const known = work({ history: { present: [knownOf(set())], old: [] } });
    const first = decide(known, firstMemory, now);
    const second = decideAfterWrites(
      first,
      first.actions.map((action) => ({ action, ok: false, error: ending })),
      now,
    );
    expect(done(second)).toEqual(["patch"]);
    const { memory } = decideAfterWrites(second, passing(second), now);
    const creates = (mono: number): boolean => done(decide(known, memory, { mono, wall: 0 })).includes("create Pod");
    expect([1000, 299_999, 300_000].map(creates)).toEqual([false, false, true]);
  });
});

test("after a quota is raised, the pods are created without a change of the set", async () => {
  const site = new DaemonSite();
  site.boards("n1", "n2");
  site.put(set(), revisionOf(set()));
  site.site.refusals.add({ reason: "Forbidden" });
  await site.begin();
  await site.run(3_600_000);
  const attempts = site.writes("create").length;
  expect(attempts).toBeGreaterThan(10);
  expect(attempts).toBeLessThan(40);
  site.site.refusals.clear();
  await site.run(4_700_000);
  expect(site.pods).toHaveLength(2);
});

test("a template whose revision the API finds too large is tried once, regardless of other changes to the set", async () => {
  const site = new DaemonSite();
  site.boards("n1");
  site.put(set());
  site.site.refusals.add({ reason: "RequestEntityTooLarge" });
  await site.begin();
  await site.run(3_600_000);
  for (let second = 1; second <= 30; second++) {
    const { metadata } = site.set;
    site.put({ ...site.set, metadata: { ...metadata, annotations: { look: String(second) } } });
    await site.run(3_600_000 + second * 1000);
  }
  expect(site.writes("create")).toHaveLength(1);
  site.site.refusals.clear();
  site.put({ ...set({ image: "agent:2" }), metadata: { ...site.set.metadata, generation: 2 } });
  await site.run(3_700_000);
  expect(site.pods).toHaveLength(1);
});

test("a revision that was too large because of the set's annotations is tried again when they shrink", async () => {
  const site = new DaemonSite();
  site.boards("n1");
  const annotated = (annotations: Readonly<Record<string, string>>) => {
    const plain = set();
    return { ...plain, metadata: { ...plain.metadata, annotations } };
  };
  site.put(annotated({ story: "x".repeat(1000), look: "1" }));
  site.site.refusals.add({ reason: "RequestEntityTooLarge" });
  await site.begin();
  site.put(annotated({ story: "x".repeat(1000), look: "12" }));
  await site.run(3_600_000);
  expect(site.writes("create")).toHaveLength(1);
  site.site.refusals.clear();
  site.put(annotated({ look: "12" }));
  await site.run(3_700_000);
  expect(site.pods).toHaveLength(1);
});

test("a set that selects everything gets an Event and nothing else", async () => {
  const site = new DaemonSite();
  site.boards("n1");
  site.put(set({ selector: {} }));
  await site.begin();
  expect(site.site.journal.writes).toEqual([]);
  expect(site.site.journal.events).toMatchObject([{ reason: "SelectingAll", type: "Warning" }]);
});

test("neither a terminating set nor its status is changed", async () => {
  const site = new DaemonSite();
  site.boards("n1");
  const going = set();
  site.put({ ...going, metadata: { ...going.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x"] } });
  await site.begin();
  expect(site.site.journal.writes).toEqual([]);
});

test("a set recreated under its name starts from scratch, with its own pods", async () => {
  const site = new DaemonSite();
  site.boards("n1");
  site.put(set());
  await site.begin();
  site.site.api.remove(daemonSets, "default/agent");
  site.put(set({ uid: "another" }));
  await site.run(1000);
  expect(site.pods).toEqual(["agent-1", "agent-2"]);
});

test("an idle site does not cause writes", async () => {
  const site = new DaemonSite();
  site.boards("n1", "n2");
  site.put(set(), revisionOf(set()), podOf(set(), "n1"), podOf(set(), "n2"));
  await site.begin();
  const { length } = site.site.journal.writes;
  await site.run(3_600_000);
  expect(site.site.journal.writes.length).toBe(length);
  expect(length).toBe(1);
});

test("a Node that cannot be read counts as existing, and does not end the pass over the set's other boards", async () => {
  const owner = set();
  const waiting = ["x", "y"].map((board) => {
    const { spec, ...pod } = podOf(owner, board);
    return { ...pod, spec: { containers: [], ...(spec?.affinity && { affinity: spec.affinity }) } };
  });
  const { site } = countedSite([
    [daemonSets, [owner]],
    [controllerRevisions, [revisionOf(owner, 1)]],
    [pods, waiting],
  ]);
  const view: SiteView = {
    ...site,
    async fetch(_, name) {
      if (name === "x") throw refusal("get", 500, "InternalError");
      return undefined;
    },
  };
  const verdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" as const };
  const { observe, initialMemory } = daemonSet({ verdictDeps });
  expect(await observe("default/agent", view, initialMemory)).toMatchObject({ kind: "work", vanished: ["y"] });
});
