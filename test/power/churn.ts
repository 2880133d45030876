import type { Node, NodeCondition, Pod } from "../../agent/api/core.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { RecordedSite } from "./recorded-site.ts";

const boards = 6;
const mostPods = 50;
const pods = "/api/v1/namespaces/default/pods";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** The tolerationSeconds of pods; undefined: no toleration. */
const tolerations = [
  undefined,
  { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 },
  { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 3 },
  { operator: "Exists", effect: "NoExecute" },
] as const;

/** A site that changes all the time; the changes follow from the seed and the present objects. */
export class Churn {
  readonly #site: RecordedSite;
  readonly #random: SeededRandom;
  #made = 0;
  #beats = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(site: RecordedSite, random: SeededRandom) {
    this.#site = site;
    this.#random = random;
  }

  begin(): void {
    for (let board = 0; board < boards; board++) this.#putBoard(nameOf(board));
    this.steps(60);
  }

  /** Further idle pods, each of about 2 KB in the store. */
  crowd(count: number): void {
    const labels = Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`label-${at}`, `${at}`.padEnd(60, "y")]));
    for (let at = 0; at < count; at++) {
      const spec = {
        nodeName: nameOf(at % boards),
        containers: [{ name: "main", image: "example/app:1" }],
        tolerations: [{ operator: "Exists" }],
      };
      this.#site.ask("POST", pods, { ...kind("v1", "Pod"), metadata: { name: `crowd-${at}`, labels }, spec });
    }
  }

  /** Makes some hundred changes a second until `pause`. */
  goOn(): void {
    this.#timer = setInterval(() => this.steps(1 + this.#random.integer(6)), 8);
  }

  pause(): void {
    clearInterval(this.#timer);
  }

  steps(count: number): void {
    for (let step = 0; step < count; step++) this.#step();
  }

  /** Removes the taints of people, so that their effects end. */
  calm(): void {
    for (const node of this.#nodes()) this.#taint(node.metadata.name, false);
  }

  #step(): void {
    const kind = this.#random.integer(100);
    const board = nameOf(this.#random.integer(boards));
    if (kind < 20) this.#site.ask("PATCH", `${leases}/${board}`, { spec: { renewTime: micros() } });
    else if (kind < 32) this.#beat(board);
    else if (kind < 52) this.#createPod();
    else if (kind < 75) this.#changePod();
    else if (kind < 87) this.#endPod();
    else if (kind < 91)
      this.#site.ask("PATCH", `/api/v1/nodes/${board}`, { metadata: { labels: { mark: this.#mark() } } });
    else if (kind < 94) this.#taint(board, this.#random.next() < 0.4);
    else if (kind < 97) this.#report(board, this.#random.next() < 0.6 ? "True" : "False");
    else if (kind < 98) this.#replaceBoard(board);
    else if (this.#random.next() < 0.1) this.#site.compact(this.#random.integer(40));
  }

  #nodes(): readonly Node[] {
    return this.#site.objects<Node>("nodes/");
  }

  #putBoard(name: string): void {
    const zone = { "topology.kubernetes.io/zone": `zone-${name.at(-1)}` };
    const status = { conditions: [condition("Ready", "True")], allocatable: { pods: "100" } };
    this.#site.ask("POST", "/api/v1/nodes", { ...kind("v1", "Node"), metadata: { name, labels: zone }, status });
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: micros() };
    this.#site.ask("POST", leases, { ...kind("coordination.k8s.io/v1", "Lease"), metadata: { name }, spec });
  }

  #replaceBoard(name: string): void {
    for (const pod of this.#podsOn(name))
      this.#site.ask("DELETE", `${pods}/${pod.metadata.name}`, { gracePeriodSeconds: 0 });
    this.#site.ask("DELETE", `/api/v1/nodes/${name}`);
    this.#site.ask("DELETE", `${leases}/${name}`);
    this.#putBoard(name);
  }

  #beat(name: string): void {
    this.#conditions(name, (before) => ({ ...before, lastHeartbeatTime: seconds(++this.#beats * 1000) }));
  }

  #report(name: string, status: string): void {
    this.#conditions(name, (before) => (before.status === status ? before : condition("Ready", status)));
  }

  #conditions(name: string, changed: (before: NodeCondition) => NodeCondition): void {
    const node = this.#nodes().find(({ metadata }) => metadata.name === name);
    const conditions = node?.status?.conditions?.map((one) => (one.type === "Ready" ? changed(one) : one));
    this.#site.ask("PATCH", `/api/v1/nodes/${name}/status`, { status: { conditions } });
  }

  /** With a new value each time: a repeated taint is another one. */
  #taint(name: string, on: boolean): void {
    const node = this.#nodes().find(({ metadata }) => metadata.name === name);
    const others = (node?.spec?.taints ?? []).filter(({ key }) => key !== "maintenance");
    const ours = { key: "maintenance", value: this.#mark(), effect: "NoExecute" };
    if (on && others.length < (node?.spec?.taints?.length ?? 0)) return;
    this.#site.ask("PATCH", `/api/v1/nodes/${name}`, { spec: { taints: on ? [...others, ours] : others } });
  }

  #createPod(): void {
    if (this.#pods().length >= mostPods) return;
    const name = `pod-${this.#random.integer(2) === 0 ? this.#random.integer(20) : ++this.#made}`;
    const tolerated = tolerations[this.#random.integer(tolerations.length)];
    const spec = {
      nodeName: nameOf(this.#random.integer(boards)),
      containers: [{ name: "main", image: "example/app:1" }],
      terminationGracePeriodSeconds: 30,
      ...(tolerated && { tolerations: [tolerated] }),
    };
    this.#site.ask("POST", pods, { ...kind("v1", "Pod"), metadata: { name, labels: { mark: this.#mark() } }, spec });
    this.#site.ask("PATCH", `${pods}/${name}/status`, {
      status: { phase: "Running", conditions: [condition("Ready", "True")] },
    });
  }

  #changePod(): void {
    const pod = this.#anyPod();
    if (pod === undefined) return;
    const at = `${pods}/${pod.metadata.name}`;
    // Some are large, so that a commit is many blocks.
    const mark = this.#mark().padEnd(this.#random.integer(4) === 0 ? 60 : 8, "x");
    const address = `10.0.${this.#random.integer(250)}.${this.#random.integer(250)}`;
    if (this.#random.integer(2) === 0) this.#site.ask("PATCH", at, { metadata: { labels: { mark } } });
    else this.#site.ask("PATCH", `${at}/status`, { status: { podIP: address, podIPs: [{ ip: address }] } });
  }

  /** The kubelet removes a deleted pod, or a person deletes one. */
  #endPod(): void {
    const ending = this.#pods().find(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const pod = ending && this.#random.integer(3) > 0 ? ending : this.#anyPod();
    if (pod === undefined) return;
    const grace = pod === ending || this.#random.integer(2) === 0 ? { gracePeriodSeconds: 0 } : {};
    this.#site.ask("DELETE", `${pods}/${pod.metadata.name}`, grace);
  }

  #anyPod(): Pod | undefined {
    const all = this.#pods();
    return all[this.#random.integer(all.length)];
  }

  #pods(): readonly Pod[] {
    return this.#site.objects<Pod>("pods/");
  }

  #podsOn(board: string): readonly Pod[] {
    return this.#pods().filter(({ spec }) => spec?.nodeName === board);
  }

  #mark(): string {
    return `m${this.#random.integer(1_000_000)}`;
  }
}

const condition = (type: string, status: string): NodeCondition => ({
  type,
  status,
  reason: "Kubelet",
  message: "healthy",
  lastHeartbeatTime: seconds(),
  lastTransitionTime: seconds(),
});

const kind = (apiVersion: string, name: string) => ({ apiVersion, kind: name });
const nameOf = (board: number): string => `board-${board}`;
const micros = (): string => new Date().toISOString().replace("Z", "000Z");
const seconds = (ahead = 0): string => new Date(Date.now() + ahead).toISOString().replace(/\.\d+Z/, "Z");
