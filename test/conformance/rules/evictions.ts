import { isJsonObject, itemsAt, type JsonObject, textAt } from "../../../agent/api/json.ts";
import type { Answer } from "../answer.ts";
import type { Ground, Space } from "../ground.ts";
import { boundPod, disruptionBudget } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

const eviction = (name: string, deleteOptions?: JsonObject): JsonObject => ({
  kind: "Eviction",
  apiVersion: "policy/v1",
  metadata: { name },
  ...(deleteOptions && { deleteOptions }),
});

const evict = (site: Ground, space: Space, name: string, deleteOptions?: JsonObject): Promise<Answer> =>
  site.post(space.at("pods", name, "eviction"), eviction(name, deleteOptions));

const labels = { app: "web" };

/** A pod that runs and is ready, as a budget counts it. */
async function healthyPod(site: Ground, space: Space, name: string): Promise<Answer> {
  const created = await space.create("pods", boundPod(name, {}, { labels }));
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  (await site.patch(space.at("pods", name, "status"), { status })).is(200);
  return created;
}

/** A budget with the status that its controller would write. */
async function budget(site: Ground, space: Space, name: string, disruptionsAllowed: number): Promise<void> {
  const created = await space.create("poddisruptionbudgets", disruptionBudget(name, labels));
  const status = {
    observedGeneration: created.at("metadata", "generation") ?? 1,
    disruptionsAllowed,
    currentHealthy: 1 + disruptionsAllowed,
    desiredHealthy: 1,
    expectedPods: 1 + disruptionsAllowed,
  };
  (await site.patch(space.at("poddisruptionbudgets", name, "status"), { status })).is(200);
}

const isMarked = (answer: Answer): boolean => answer.textAt("metadata", "deletionTimestamp") !== "";

export const evictionRules: readonly Rule[] = [
  rule(
    "eviction",
    "an eviction deletes a pod with its grace period and adds a condition with the reason",
    async (site) => {
      const space = await site.space();
      await healthyPod(site, space, "one");
      const answer = (await evict(site, space, "one")).is(201);
      answer.shows("Status", "kind").shows("Success", "status");
      const read = (await site.get(space.at("pods", "one"))).is(200);
      read
        .holds("a deletionTimestamp", read.at("metadata"), isMarked(read))
        .shows(30, "metadata", "deletionGracePeriodSeconds");
      const why = itemsAt(read.body, "status", "conditions").find((one) => textAt(one, "type") === "DisruptionTarget");
      read.same(
        "the condition DisruptionTarget",
        `${textAt(why, "status")} ${textAt(why, "reason")}`,
        "True EvictionByEvictionAPI",
      );
    },
  ),
  rule(
    "eviction-options",
    "an eviction accepts the options of a deletion: grace period, uid, dry run",
    async (site) => {
      const space = await site.space();
      const { uid } = await healthyPod(site, space, "one");
      (await evict(site, space, "one", { preconditions: { uid: "another" } })).fails(409, "Conflict");
      (await evict(site, space, "one", { dryRun: ["All"] })).is(201);
      const kept = (await site.get(space.at("pods", "one"))).is(200);
      kept.holds("no deletionTimestamp", kept.at("metadata"), !isMarked(kept));
      (await evict(site, space, "one", { preconditions: { uid }, gracePeriodSeconds: 7 })).is(201);
      (await site.get(space.at("pods", "one"))).shows(7, "metadata", "deletionGracePeriodSeconds");
      await healthyPod(site, space, "two");
      (await evict(site, space, "two", { gracePeriodSeconds: 0 })).is(201);
      (await site.get(space.at("pods", "two"))).fails(404, "NotFound");
    },
  ),
  rule(
    "eviction-of-nothing",
    "an eviction of a missing pod gets 404, and one that names another pod than the path gets 400",
    async (site) => {
      const space = await site.space();
      (await evict(site, space, "one")).fails(404, "NotFound");
      await healthyPod(site, space, "one");
      (await site.post(space.at("pods", "one", "eviction"), eviction("two"))).fails(400, "BadRequest");
      (await site.post(space.at("pods", "one", "eviction"), {})).fails(400, "BadRequest");
      (await site.get(space.at("pods", "one"))).is(200).shows(undefined, "metadata", "deletionTimestamp");
    },
  ),
  rule(
    "eviction-refused",
    "a disruption budget that allows nothing prevents an eviction: 429 with the cause DisruptionBudget, without effect",
    async (site) => {
      const space = await site.space();
      await healthyPod(site, space, "one");
      await budget(site, space, "web", 0);
      const refused = (await evict(site, space, "one")).fails(429, "TooManyRequests");
      const [cause] = itemsAt(refused.body, "details", "causes");
      refused.same("the cause", textAt(cause, "reason"), "DisruptionBudget");
      refused.holds("the budget's name in the cause", cause, textAt(cause, "message").includes("web"));
      (await site.get(space.at("pods", "one"))).is(200).shows(undefined, "metadata", "deletionTimestamp");
      // A budget does not prevent a deletion.
      (await site.delete(space.at("pods", "one"))).is(200);
    },
  ),
  rule(
    "eviction-counted",
    "a permitted eviction is counted: the next one is refused until the budget's status is updated",
    async (site) => {
      const space = await site.space();
      for (const name of ["one", "two"]) await healthyPod(site, space, name);
      await budget(site, space, "web", 1);
      (await evict(site, space, "one")).is(201);
      const counted = (await site.get(space.at("poddisruptionbudgets", "web"))).is(200);
      counted.shows(0, "status", "disruptionsAllowed");
      const disrupted = counted.at("status", "disruptedPods");
      counted.same("disruptedPods", isJsonObject(disrupted) ? Object.keys(disrupted) : [], ["one"]);
      (await evict(site, space, "two")).fails(429, "TooManyRequests");
      (await site.get(space.at("pods", "two"))).shows(undefined, "metadata", "deletionTimestamp");
    },
  ),
  rule(
    "eviction-unjudged",
    "a budget without a current status allows nothing: 429 with a time to wait",
    async (site) => {
      const space = await site.space();
      await healthyPod(site, space, "one");
      await space.create("poddisruptionbudgets", disruptionBudget("web", labels));
      const refused = (await evict(site, space, "one")).fails(429, "TooManyRequests");
      refused.same("Retry-After", refused.headers["retry-after"], "10").shows(10, "details", "retryAfterSeconds");
      (await site.get(space.at("pods", "one"))).shows(undefined, "metadata", "deletionTimestamp");
    },
  ),
  rule("eviction-others", "a budget for other pods, or of another namespace, has no effect", async (site) => {
    const [space, other] = [await site.space(), await site.space()];
    await healthyPod(site, space, "one");
    await space.create("poddisruptionbudgets", disruptionBudget("db", { app: "db" }));
    await other.create("poddisruptionbudgets", disruptionBudget("web", labels));
    (await evict(site, space, "one")).is(201);
  }),
  rule("eviction-of-ended", "a finished or pending pod is evicted despite a budget", async (site) => {
    const space = await site.space();
    await space.create("poddisruptionbudgets", disruptionBudget("web", labels));
    await healthyPod(site, space, "ended");
    (await site.patch(space.at("pods", "ended", "status"), { status: { phase: "Succeeded" } })).is(200);
    (await evict(site, space, "ended")).is(201);
    (await site.get(space.at("pods", "ended"))).fails(404, "NotFound");
    await space.create("pods", boundPod("pending", {}, { labels }));
    (await evict(site, space, "pending")).is(201);
  }),
  rule("eviction-two-budgets", "a pod under two budgets cannot be evicted: 500, without effect", async (site) => {
    const space = await site.space();
    await healthyPod(site, space, "one");
    await budget(site, space, "web", 1);
    await budget(site, space, "web-too", 1);
    const refused = (await evict(site, space, "one")).is(500);
    refused.shows("Status", "kind").shows("Failure", "status");
    (await site.get(space.at("pods", "one"))).shows(undefined, "metadata", "deletionTimestamp");
    (await site.get(space.at("poddisruptionbudgets", "web"))).shows(1, "status", "disruptionsAllowed");
  }),
];
