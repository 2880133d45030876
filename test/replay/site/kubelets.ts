import { leases, nodes } from "../../../agent/api/resources.ts";
import type { Clock, Millis } from "../../../agent/base/clock.ts";
import type { CaseTime } from "./case-time.ts";
import type { MemoryApi } from "./memory-api.ts";

/** The interval of a kubelet with a Lease of 40 s. */
const renewEvery: Millis = 10_000;

/** The boards that are alive and renew their Leases. The case determines their status. */
export class Kubelets {
  readonly #clock: Clock;
  readonly #time: CaseTime;
  readonly #api: MemoryApi;
  readonly #alive = new Set<string>();
  #renewals = 0;

  constructor({ clock, time, api }: { readonly clock: Clock; readonly time: CaseTime; readonly api: MemoryApi }) {
    this.#clock = clock;
    this.#time = time;
    this.#api = api;
  }

  /** Renewals at 10 s, 20 s, ... of the case. */
  begin(): void {
    this.#clock.after(renewEvery, () => {
      for (const name of this.#alive) if (this.#api.find(nodes, name)) this.renew(name);
      this.begin();
    });
  }

  setAlive(name: string, alive: boolean): void {
    const was = this.#alive.has(name);
    if (alive) this.#alive.add(name);
    else this.#alive.delete(name);
    if (alive && !was) this.renew(name);
  }

  /** Its Lease is gone. */
  forget(name: string): void {
    this.#api.remove(leases, `kube-node-lease/${name}`);
  }

  /** `counter`: the same number again is not a renewal. */
  renew(name: string, counter?: number): void {
    const now = this.#clock.now().mono;
    const at = counter === undefined ? now : counter * 1000;
    const micros = counter === undefined ? String(this.#renewals++ % 1000).padStart(3, "0") : "000";
    const renewTime = this.#time.stamp(at).replace(/(?:\.(\d{3}))?Z$/, (_, millis = "000") => `.${millis}${micros}Z`);
    this.#api.put(leases, {
      metadata: { name, namespace: "kube-node-lease" },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
    });
  }
}
