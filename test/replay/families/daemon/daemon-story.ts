import type { DaemonSet, Node, Pod } from "../../../../agent/api/core.ts";
import { keyOf } from "../../../../agent/api/meta.ts";
import { controllerOf } from "../../../../agent/api/owners.ts";
import { boardOf, isTerminating } from "../../../../agent/api/pods.ts";
import { controllerRevisions, daemonSets, nodes, pods } from "../../../../agent/api/resources.ts";
import type { Millis } from "../../../../agent/base/clock.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { availabilityOf, watchReadiness } from "../../../../agent/controllers/daemonset/availability.ts";
import { podsByBoard } from "../../../../agent/controllers/daemonset/board.ts";
import { daemonSet } from "../../../../agent/controllers/daemonset/controller.ts";
import { hashLabel, targetOf } from "../../../../agent/controllers/daemonset/daemon-pod.ts";
import { eligibilityOf } from "../../../../agent/controllers/daemonset/eligibility.ts";
import { presentHash } from "../../../../agent/controllers/daemonset/history.ts";
import { updateStep } from "../../../../agent/controllers/daemonset/rolling-update.ts";
import { MalformedCase } from "../../malformed.ts";
import type { Outcome } from "../../outcome.ts";
import { lifecycleSettings } from "../../settings.ts";
import { type CaseTime, ms } from "../../site/case-time.ts";
import { isShortNode, nodeFrom } from "../../site/node-form.ts";
import { Site } from "../../site/site.ts";
import type { Config, Event, Given, GivenBoard, GivenPod, GivenSet } from "./forms.ts";
import { conditions, podObject, revisionObject, setSpec, usualRevisions } from "./objects.ts";
import { PassLog } from "./pass-log.ts";

const setKey = "default/agent";

/** A site on which only the DaemonSet controller runs, with one set; the case decides when its pods run. */
export class DaemonStory {
  readonly site: Site;
  readonly passes: PassLog;
  readonly #time: CaseTime;
  readonly #startsAfter: Millis | undefined;
  #set: GivenSet;
  #pods = 0;
  #touches = 0;
  readonly #starting = new Set<string>();

  constructor(time: CaseTime, config: Config, given: Given) {
    this.site = new Site(time);
    this.passes = new PassLog(() => ms(this.site.clock.now()));
    this.#time = time;
    this.#startsAfter = config.startsMs;
    this.#set = given.set ?? {};
    for (const board of given.nodes ?? []) this.#putNode(board);
    const set = this.#putSet();
    // A set that has pods has been processed before.
    if (given.pods) this.site.api.put(daemonSets, { ...set, status: { observedGeneration: 1 } });
    const hasOld = given.pods?.some(({ of }) => of === "old") ?? false;
    if (given.pods?.some(({ of = "new" }) => of !== "other")) {
      for (const revision of usualRevisions(set, hasOld)) this.site.api.put(controllerRevisions, revision);
    }
    for (const one of given.revisions ?? []) this.site.api.put(controllerRevisions, revisionObject(one, set));
    this.site.api.informer(pods).onChange((changes) => {
      for (const { after } of changes) if (after) this.passes.knows(after);
      this.#startPods();
    });
    for (const pod of given.pods ?? []) this.#putPod(pod);
  }

  async begin(): Promise<void> {
    const verdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" as const };
    this.site.start(this.site.loopOf(this.passes.watched(daemonSet({ verdictDeps }))));
  }

  get outcome(): Outcome {
    const { api } = this.site;
    const set = this.#found;
    const { observedGeneration, collisionCount, conditions: _, ...counts } = set?.status ?? {};
    return {
      update: this.update,
      boards: Object.fromEntries(
        api.all(nodes).map((node) => [node.metadata.name, set && shownEligibility(set, node)]),
      ),
      pods: api.all(pods).map((pod) => this.#shownPod(pod)),
      status: set && { ...counts, observedGeneration, collisionCount },
      revisions: api
        .all(controllerRevisions)
        .map((one) => ({
          name: one.metadata.name,
          revision: one.revision,
          hash: one.metadata.labels?.[hashLabel],
          owner: controllerOf(one)?.name,
        }))
        .toSorted((a, b) => a.revision - b.revision),
    };
  }

  /** The first step of an update, as the rule alone would take it now: no other pod is missing or surplus. */
  get update(): Outcome {
    const { api } = this.site;
    const set = this.#found;
    if (set === undefined) return {};
    const boards = api.all(nodes).map((node) => ({ name: node.metadata.name, ...eligibilityOf(set, node) }));
    const mine = api.all(pods).filter((pod) => controllerOf(pod)?.uid === set.metadata.uid);
    const now = this.site.clock.now();
    const availability = availabilityOf(set, atOnce(watchReadiness(mine, undefined, now)));
    const context = { set, hash: atOnce(presentHash(set)), availability };
    const { step, count } = atOnce(updateStep(boards, atOnce(podsByBoard(mine)), context, now));
    const { desired, maxUnavailable, maxSurge, inProgress } = count;
    return {
      desired,
      maxUnavailable,
      maxSurge,
      ...(maxSurge === 0 ? { unavailable: inProgress } : { surging: inProgress }),
      delete: step.leaving.map(({ pod }) => pod.metadata.name),
      create: step.create,
    };
  }

  async happen(event: Event): Promise<boolean> {
    if (event.do === "restart") {
      await this.site.endTerm();
      await this.begin();
    } else this.#happen(event);
    return false;
  }

  #happen(event: Exclude<Event, { do: "restart" }>): void {
    const { api, refusals } = this.site;
    switch (event.do) {
      case "set":
        this.#set = { ...this.#set, ...event.change };
        this.#putSet();
        break;
      case "touch":
        this.#putSet({ touched: String(++this.#touches) });
        break;
      case "deleteSet":
        api.remove(daemonSets, setKey);
        break;
      case "putNode":
        this.#putNode(event.node);
        break;
      case "deleteNode":
        if (api.remove(nodes, event.node) === undefined) throw new MalformedCase([`there is no Node ${event.node}`]);
        break;
      case "putPod":
        this.#putPod(event.pod);
        break;
      case "changePod":
        this.#changePod(this.#pod(event.pod), event);
        break;
      case "terminate": {
        const pod = this.#pod(event.pod);
        const deletionTimestamp = this.#time.stamp(ms(this.site.clock.now()));
        api.put(pods, { ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
        break;
      }
      case "deletePod":
        api.remove(pods, keyOf(this.#pod(event.pod)));
        break;
      case "refuseCreation":
        refusals.add({ object: `default/agent-${event.nth}`, reason: event.reason, times: event.times });
        break;
      case "refuse":
        refusals.add({ object: event.object, reason: event.reason, times: event.times });
        break;
      case "accept":
        refusals.clear();
        break;
      case "look":
        break;
      default:
        event satisfies never;
    }
  }

  get #found(): DaemonSet | undefined {
    return this.site.api.find(daemonSets, setKey);
  }

  #putSet(annotations: Readonly<Record<string, string>> = {}): DaemonSet {
    const before = this.#found;
    const spec = setSpec(this.#set);
    const isSame = JSON.stringify(before?.spec) === JSON.stringify(spec);
    const generation = (before?.metadata.generation ?? 0) + (isSame ? 0 : 1);
    const metadata = { name: "agent", namespace: "default", uid: "uid-agent", generation, annotations };
    this.site.api.put(daemonSets, { metadata, spec, ...(before?.status && { status: before.status }) });
    const set = this.#found;
    if (set === undefined) throw new Error("what was put is not there");
    return set;
  }

  #putNode(board: GivenBoard): void {
    const short = typeof board === "string" ? { name: board } : board;
    this.site.api.put(nodes, isShortNode(short) ? nodeFrom(short, this.#time) : short);
  }

  #putPod(pod: GivenPod): void {
    const set = this.#found;
    if (set === undefined) throw new MalformedCase(["there is no set at that time"]);
    this.site.api.put(pods, podObject(pod, set, ++this.#pods, this.#time));
  }

  #changePod(pod: Pod, { phase, ready, labels, bind }: Extract<Event, { do: "changePod" }>): void {
    const now = this.#time.stamp(ms(this.site.clock.now()));
    const target = bind ? targetOf(pod) : undefined;
    const own = labels ? Object.fromEntries(labels) : pod.metadata.labels;
    this.site.api.put(pods, {
      ...pod,
      metadata: { ...pod.metadata, ...(own && { labels: own }) },
      spec: { ...pod.spec, ...(target !== undefined && { nodeName: target }) },
      status: { ...pod.status, ...(phase && { phase }), ...(ready && { conditions: conditions(ready, now) }) },
    });
  }

  /** Created pods are bound after a while, if the case says so, and are then ready at once. */
  #startPods(): void {
    if (this.#startsAfter === undefined) return;
    for (const { metadata, spec } of this.site.api.all(pods)) {
      if (spec?.nodeName !== undefined || this.#starting.has(metadata.uid)) continue;
      this.#starting.add(metadata.uid);
      this.site.clock.after(this.#startsAfter, () => {
        const pod = this.site.api.find(pods, keyOf({ metadata }));
        if (pod === undefined || isTerminating(pod)) return;
        this.#changePod(pod, { do: "changePod", pod: metadata.name, phase: "Running", ready: "T", bind: true });
      });
    }
  }

  #shownPod(pod: Pod): Outcome {
    const set = this.#found;
    const owner = controllerOf(pod);
    return {
      name: pod.metadata.name,
      node: targetOf(pod),
      bound: boardOf(pod) !== undefined,
      phase: pod.status?.phase,
      terminating: isTerminating(pod) || undefined,
      hash: pod.metadata.labels?.[hashLabel],
      owner: owner && (owner.uid === set?.metadata.uid ? "set" : "another"),
    };
  }

  #pod(ref: string): Pod {
    const at = ref.indexOf("@");
    const found =
      at < 0
        ? this.site.api.find(pods, `default/${ref}`)
        : this.site.api
            .all(pods)
            .filter((pod) => targetOf(pod) === ref.slice(at + 1) && pod.metadata.labels?.app === "agent")
            .toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))
            .at(-1);
    if (found === undefined) throw new MalformedCase([`there is no pod ${JSON.stringify(ref)} at that time`]);
    return found;
  }
}

const ageOf = ({ metadata }: Pod): string => `${metadata.creationTimestamp} ${metadata.name}`;

function shownEligibility(set: DaemonSet, node: Node): Outcome {
  const { run, stay } = eligibilityOf(set, node);
  return { shouldRun: run, shouldContinue: stay };
}
