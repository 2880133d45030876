import { describe, expect, test } from "vitest";
import type { Pod, Taint } from "../../../../agent/api/core.ts";
import type { KubeObject, NewObject } from "../../../../agent/api/meta.ts";
import { pinTo } from "../../../../agent/api/node-affinity.ts";
import { controllerRevisions, type Resource, resourceName } from "../../../../agent/api/resources.ts";
import { atOnce, type Steps } from "../../../../agent/base/steps.ts";
import { type Claimed, readClaimed } from "../../../../agent/controllers/daemonset/claimed.ts";
import { bareDaemonPod, daemonPods } from "../../../../agent/controllers/daemonset/daemon-pod.ts";
import { decide, decideAfterWritesInSteps, decideInSteps } from "../../../../agent/controllers/daemonset/decide.ts";
import { eligibilityOf } from "../../../../agent/controllers/daemonset/eligibility.ts";
import { presentHash, revisionData } from "../../../../agent/controllers/daemonset/history.ts";
import { firstMemory } from "../../../../agent/controllers/daemonset/memory.ts";
import type { SetState } from "../../../../agent/controllers/daemonset/pass.ts";
import { selectorOf } from "../../../../agent/controllers/daemonset/selector.ts";
import type { Outcome } from "../../../../agent/execution/actions.ts";
import type { Lister } from "../../../../agent/informer/lister.ts";
import type { SiteView } from "../../../../agent/loop/controller.ts";
import { knownOf, podOf, revisionOf, type SetOptions, set } from "./support/daemon-site.ts";

const tolerations = Array.from({ length: 5000 }, (_, i) => ({ key: `k${i}`, operator: "Exists" }));
const owner = set({ revisionHistoryLimit: 100_000, template: { tolerations } });
const present = atOnce(revisionData(owner));
const former = { ...revisionOf(owner), data: atOnce(revisionData(set({ template: { tolerations: [] } }))) };
const notes = { "example.com/note": "z".repeat(100_000) };

const revisions = Array.from({ length: 30 }, (_, i) => {
  const { metadata } = revisionOf(owner, i, `agent-r${i}`);
  return { ...former, metadata: { ...metadata, annotations: notes }, revision: i, ...(i === 7 && { data: present }) };
});

const waiting: Pod = {
  ...podOf(owner, "n1"),
  spec: { containers: [], affinity: pinTo(undefined, "n1"), tolerations },
};
const pods = Array.from({ length: 30 }, (_, i): Pod => {
  const { metadata, status } = podOf(owner, `n${i}`, { name: `p${i}`, uid: `uid-p${i}` });
  const labels = { ...metadata.labels, ...Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`l${n}`, "x"])) };
  return { ...waiting, metadata: { ...metadata, labels }, ...(status && { status }) };
});

/** A site whose cache decodes each object when it is read, and what the longest step read of it. */
function siteOf() {
  const longest = { reads: 0 };
  let reads = 0;
  const found = function* <T extends KubeObject>(resource: Resource<T>): IterableIterator<T> {
    for (const object of resourceName(resource) === resourceName(controllerRevisions) ? revisions : pods) {
      reads++;
      yield JSON.parse(JSON.stringify(object));
    }
  };
  const view: Pick<SiteView, "lister" | "inTurns"> = {
    lister: <T extends KubeObject>(resource: Resource<T>) => {
      const lister: Pick<Lister<T>, "byIndex"> = { byIndex: () => found(resource) };
      return lister as Lister<T>;
    },
    inTurns<T>(steps: Steps<T>): T {
      for (;;) {
        reads = 0;
        const step = steps.next();
        longest.reads = Math.max(longest.reads, reads);
        if (step.done) return step.value;
      }
    },
  };
  return { site: view as SiteView, longest };
}

async function claimedOn(site: SiteView): Promise<Claimed> {
  const claimed = await readClaimed(owner, selectorOf(owner) ?? [], site);
  if (claimed === undefined) throw new Error("nothing was claimed");
  return claimed;
}

test("a set's revisions and pods are read one per step, regardless of how many a tenant keeps", async () => {
  const { site, longest } = siteOf();
  await claimedOn(site);
  expect(longest.reads).toBe(1);
});

test("a pass holds little of a set's large revisions and pods", async () => {
  const claimed = await claimedOn(siteOf().site);
  expect(claimed.revisions.map(({ isPresent }) => isPresent)).toEqual(revisions.map((_, i) => i === 7));
  expect(claimed.pods).toHaveLength(pods.length);
  expect(JSON.stringify(claimed).length).toBeLessThan(1000 * (revisions.length + pods.length));
});

test("a pod's board, template and status are kept", async () => {
  const [pod] = (await claimedOn(siteOf().site)).pods;
  const { metadata, status } = podOf(owner, "n0", { name: "p0", uid: "uid-p0" });
  const { ownerReferences: _, labels, ...identity } = metadata;
  const { app: __, ...hash } = labels ?? {};
  expect(pod).toEqual({
    metadata: { ...identity, labels: hash },
    spec: { containers: [], affinity: pinTo(undefined, "n1") },
    status,
  });
});

test("the pods that a pass creates share the template's objects", () => {
  const podOn = daemonPods(owner, "abc");
  const made = (board: string) => podOn(board) as NewObject & { readonly spec: Readonly<Record<string, unknown>> };
  const [one, other] = [made("n1"), made("n2")];
  const differing = Object.keys(one.spec).filter((name) => one.spec[name] !== other.spec[name]);
  expect(differing).toEqual(["affinity"]);
  expect(other.metadata).toBe(one.metadata);
});

test("whether a board is eligible is decided without a copy of the tolerations", () => {
  const reads = { count: 0 };
  const counted = new Proxy(tolerations, {
    get(target, member, receiver) {
      if (typeof member === "string" && /^\d+$/.test(member)) reads.count++;
      return Reflect.get(target, member, receiver);
    },
  });
  const node = { metadata: { name: "n1", uid: "u", resourceVersion: "1" } };
  expect(eligibilityOf(set({ template: { tolerations: counted } }), node).run).toBe(true);
  expect(reads.count).toBe(0);
});

test("a board that siteward took out of service gets no pod, and keeps those that it has until they are evicted", () => {
  const outOfService = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "siteward" };
  const board = (...taints: readonly Taint[]) => ({
    metadata: { name: "n1", uid: "u", resourceVersion: "1", annotations: { "siteward.dev/out-of-service": "{}" } },
    spec: { taints },
  });
  const other = { key: "ops/drain", effect: "NoExecute" };
  expect(eligibilityOf(set(), board(outOfService))).toEqual({ run: false, stay: true });
  expect(eligibilityOf(set(), board(outOfService, other))).toEqual({ run: false, stay: false });
  expect(eligibilityOf(set(), board({ ...outOfService, value: "nodeshutdown" }))).toEqual({ run: false, stay: false });
});

describe("8000 pods of one set", () => {
  const count = 8000;
  const names = Array.from({ length: count }, (_, i) => `n${i}`);
  const at = { mono: 100_000, wall: 100_000 };
  const surging = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } as const;

  interface Shape {
    /** The boards that have a Node. */
    readonly boards: readonly string[];
    readonly boardOf: (pod: number) => string;
    readonly set?: SetOptions;
    readonly phase?: string;
    readonly template?: string;
  }
  const shapes: Readonly<Record<string, Shape>> = {
    "on one board": { boards: ["n0"], boardOf: () => "n0" },
    "on one board, in an update with surge": {
      boards: ["n0"],
      boardOf: () => "n0",
      set: { updateStrategy: surging, minReadySeconds: 5 },
    },
    "succeeded on one board": { boards: ["n0"], boardOf: () => "n0", phase: "Succeeded" },
    "on a board without a Node": { boards: ["n0"], boardOf: () => "gone" },
    "on as many boards": { boards: names, boardOf: (pod) => `n${pod}`, set: { minReadySeconds: 5 } },
    "of another template": { boards: names, boardOf: (pod) => `n${pod}`, template: "other" },
    "of another template, in an update with surge": {
      boards: names,
      boardOf: (pod) => `n${pod}`,
      set: { updateStrategy: surging },
      template: "other",
    },
  };

  function stateOf({ boards, boardOf, set: options = {}, phase = "Running", template }: Shape): SetState {
    const owner = set(options);
    const hash = template ?? atOnce(presentHash(owner));
    const all = names.map((_, i): Pod => {
      // In no order of their age.
      const age = (i * 7919) % count;
      const creationTimestamp = new Date(1.7e12 + age * 1000).toISOString();
      const pod = podOf(owner, boardOf(i), { hash, name: `p${i}`, uid: `uid-p${i}`, creationTimestamp });
      return bareDaemonPod({ ...pod, status: { ...pod.status, phase } });
    });
    return {
      kind: "work",
      set: owner,
      boards: boards.map((name) => ({ name, run: true, stay: true })),
      vanished: [],
      pods: all,
      history: { present: [knownOf(owner)], old: [] },
      claims: [],
      expected: new Map(),
    };
  }

  /** A whole pass whose writes all succeed: its CPU in microseconds, and that of the longest step. */
  function costOf(state: SetState): { readonly whole: number; readonly longest: number } {
    let [whole, longest] = [0, 0];
    const run = <T>(steps: Steps<T>): T => {
      for (;;) {
        const before = process.cpuUsage();
        const step = steps.next();
        const { user, system } = process.cpuUsage(before);
        whole += user + system;
        longest = Math.max(longest, user + system);
        if (step.done) return step.value;
      }
    };
    let decision = run(decideInSteps(state, firstMemory, at));
    while (decision.memory.pass !== undefined) {
      const outcomes = decision.actions.map((action): Outcome => ({ action, ok: true }));
      decision = run(decideAfterWritesInSteps(decision, outcomes, at));
    }
    return { whole, longest };
  }

  test.each(Object.keys(shapes))("%s are decided in steps, each of which is a small part of the whole", (name) => {
    const shares = Array.from({ length: 3 }, () => {
      const { whole, longest } = costOf(stateOf(shapes[name] as Shape));
      // Of less than 20 ms each step may be a large part.
      return longest / Math.max(20_000, whole);
    });
    // A collection of the heap may fall into any step.
    expect(Math.min(...shares)).toBeLessThan(0.25);
  });

  test("do not cost an Event for each pod that ended", () => {
    const { actions } = decide(stateOf(shapes["succeeded on one board"] as Shape), firstMemory, at);
    expect(actions.length).toBeLessThan(1000);
  });
});
