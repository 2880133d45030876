import { expect, test } from "vitest";
import { forEachConcurrently } from "../../../../agent/base/concurrency/for-each-concurrently.ts";
import { ApiError } from "../../../../agent/client/api-error.ts";
import { refusal } from "../../../support/small-api.ts";

const numbers = Array.from({ length: 100 }, (_, i) => i);

/** The items that were asked about, where one of them fails. */
async function asked(failing: number, error: Error): Promise<readonly number[]> {
  const found: number[] = [];
  await forEachConcurrently(numbers, async (item) => {
    found.push(item);
    await Promise.resolve();
    if (item === failing) throw error;
  });
  return found;
}

test.each<[string, ApiError]>([
  ["an answer that cannot be read", refusal("get", 0, "Unreadable")],
  ["an object that the server cannot read", refusal("get", 500, "InternalError")],
  ["an object that is refused without a reason", refusal("get", 500, "")],
])("%s affects only that object", async (_, error) => {
  expect(await asked(3, error)).toEqual(numbers);
});

test.each<[string, Error]>([
  ["no answer", refusal("get", 0, "Timeout")],
  ["a missing permission", refusal("get", 403, "Forbidden")],
  ["a busy server", refusal("get", 429, "TooManyRequests")],
  ["a server that is not ready", refusal("get", 503, "ServiceUnavailable")],
  [
    "a server whose etcd does not answer",
    new ApiError(
      { verb: "get", target: "pod web" },
      { status: 500, reason: "", message: "etcdserver: request timed out" },
    ),
  ],
  ["another error", new Error("it failed")],
])("after %s no more requests are started: each of them would fail", async (_, error) => {
  expect((await asked(3, error)).length).toBeLessThan(20);
});
