import { expect, test } from "vitest";
import { type JsonObject, textAt, valueAt } from "../../../agent/api/json.ts";
import { nodes, pods } from "../../../agent/api/resources.ts";
import { TaskGroup } from "../../../agent/base/concurrency/tasks.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { Mirror } from "../../../simulator/client/mirror.ts";
import { SiteClient } from "../../../simulator/client/site-client.ts";
import { Scheduler } from "../../../simulator/cluster/scheduler.ts";
import { merge, node, pod, pods as podsPath, TestSite } from "../site-api/site.ts";

/** A site with its API and a scheduler, and nothing else. */
class ScheduledSite extends TestSite {
  readonly #tasks = new TaskGroup();

  start(): void {
    const ambient = { clock: this.clock, random: this.random, log: noopLogger };
    const exchange = (request: Parameters<typeof this.api.handle>[0]) => this.api.handle(request);
    const client = new SiteClient(ambient, { exchange, timeout: 10_000, userAgent: "test" });
    const mirrors = {
      nodes: new Mirror(ambient, { client, resource: nodes }),
      pods: new Mirror(ambient, { client, resource: pods }),
    };
    this.#tasks.start("nodes", (signal) => mirrors.nodes.run(signal));
    this.#tasks.start("pods", (signal) => mirrors.pods.run(signal));
    this.#tasks.start("scheduler", (signal) => new Scheduler(ambient, { client, ...mirrors }).run(signal));
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#tasks.stop();
    await this.#tasks.join();
    await super[Symbol.asyncDispose]();
  }

  async board(name: string, taints: readonly JsonObject[] = []): Promise<void> {
    await this.create("/api/v1/nodes", node(name));
    await this.spec(name, { taints });
  }

  async spec(name: string, spec: JsonObject): Promise<void> {
    await this.ask("PATCH", `/api/v1/nodes/${name}`, { spec }, { type: merge });
    await this.clock.advance("1s");
  }

  /** What `kubectl describe` finds of a pod: "reason xCOUNT message". */
  async eventsOf(name: string): Promise<string[]> {
    const { body } = await this.get(`${podsPath}/${name}`);
    const selector = `involvedObject.name=${name},involvedObject.uid=${textAt(body, "metadata", "uid")}`;
    const found = await this.get(`/api/v1/namespaces/default/events?fieldSelector=${encodeURIComponent(selector)}`);
    const events = valueAt(found.body, "items");
    return (Array.isArray(events) ? events : [])
      .map((event) => `${event.type} ${event.reason} x${event.count} ${event.message}`)
      .sort();
  }
}

const gone = { key: "gone", effect: "NoExecute" };
const tainted = "Warning FailedScheduling x1 none of 1 boards fits: 1 tainted gone";

test("a pod that does not fit any board gets one Event for each reason, and other pods do not get any", async () => {
  await using site = new ScheduledSite();
  await site.board("pi-1", [gone]);
  site.start();
  await site.create(podsPath, pod("web"));
  await site.clock.advance("1s");
  expect(await site.eventsOf("web")).toEqual([tainted]);
  await site.clock.advance("5m");
  expect(await site.eventsOf("web")).toEqual([tainted]);
  await site.spec("pi-1", { taints: [] });
  await site.create(podsPath, pod("late"));
  await site.clock.advance("1s");
  for (const name of ["web", "late"]) {
    expect(textAt((await site.get(`${podsPath}/${name}`)).body, "spec", "nodeName")).toBe("pi-1");
  }
  expect([await site.eventsOf("web"), await site.eventsOf("late")]).toEqual([[tainted], []]);
});

test("another reason is reported separately, and a reason that returns is counted", async () => {
  await using site = new ScheduledSite();
  await site.board("pi-1", [gone]);
  site.start();
  await site.create(podsPath, pod("web"));
  await site.clock.advance("1s");
  await site.spec("pi-1", { taints: [], unschedulable: true });
  const cordoned = "Warning FailedScheduling x1 none of 1 boards fits: 1 cordoned";
  expect(await site.eventsOf("web")).toEqual([cordoned, tainted]);
  await site.spec("pi-1", { taints: [gone], unschedulable: false });
  expect(await site.eventsOf("web")).toEqual([cordoned, tainted.replace("x1", "x2")]);
});

test("a pod that waits for longer than Events are kept gets another Event", async () => {
  await using site = new ScheduledSite();
  await site.board("pi-1", [gone]);
  site.start();
  await site.create(podsPath, pod("web"));
  await site.clock.advance("1s");
  await site.clock.advance("11m");
  expect(await site.eventsOf("web")).toEqual([tainted.replace("x1", "x2")]);
  await site.ask("DELETE", "/api/v1/namespaces/default/events");
  await site.clock.advance("11m");
  expect(await site.eventsOf("web")).toEqual([tainted]);
});
