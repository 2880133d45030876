import { expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { LinkedSite } from "../support/links/linked-site.ts";

const duration = 12;
const config = { leader: { duration: `${duration}s`, renewDeadline: "8s", retry: "1s" } };
const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";

interface SiteLease {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly spec: { readonly holderIdentity: string };
}

/** The process of a machine that was copied while running: it has the same identity and renews the Lease as its own. */
class Namesake {
  readonly #site: LinkedSite;
  readonly #identity: string;
  readonly #timer: NodeJS.Timeout;

  constructor(site: LinkedSite, identity: string) {
    this.#site = site;
    this.#identity = identity;
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), 700);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #renew(): Promise<void> {
    const { metadata, spec } = await this.#site.request<SiteLease>("GET", leasePath);
    if (spec.holderIdentity !== this.#identity) return;
    const { uid, resourceVersion } = metadata;
    const renewTime = new Date().toISOString().replace("Z", "000Z");
    const patch = { metadata: { uid, resourceVersion }, spec: { renewTime } };
    await this.#site.request("PATCH", leasePath, patch, "application/merge-patch+json");
  }
}

test("a leader with a namesake ends its term and reports it, and leads a new term when the namesake has stopped", async () => {
  const site = await new LinkedSite({ config }).start();
  const { agent } = site;
  const collisions = () => agent.status()?.health.conditions.filter(({ type }) => type === "IdentityCollision") ?? [];
  let namesake: Namesake | undefined;
  try {
    await until("the board leads", () => agent.isReady, 30);
    const first = agent.status()?.leader?.term ?? Number.NaN;
    const { spec } = await site.request<SiteLease>("GET", leasePath);
    namesake = new Namesake(site, spec.holderIdentity);

    await until("the board ends its term", () => !agent.leads, 15);
    await until("the board reports why", () => collisions().length === 1, 15);
    expect(collisions()).toMatchObject([
      { severity: "critical", message: expect.stringContaining(spec.holderIdentity), hint: expect.any(String) },
    ]);
    expect(agent.status()?.health.level).toBe("critical");
    await new Promise((resolve) => setTimeout(resolve, (duration + 3) * 1000));
    expect(agent.leads).toBe(false);

    namesake.stop();
    await until("the board leads again", () => agent.leads, 2 * duration + 1 + 5);
    expect(agent.status()?.leader?.term).toBe(first + 1);
    await until("the problem is cleared", () => collisions().length === 0, 15);
  } finally {
    namesake?.stop();
    await site.stop();
  }
});
