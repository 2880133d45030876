import { test } from "vitest";
import { missingAssets } from "../support/kube-cluster.ts";

/** Says aloud that the suites in this folder were left out, where they were. */
test("the servers that this folder's suites need are there", ({ skip }) => {
  const missing = missingAssets();
  if (missing !== undefined) {
    process.stdout.write(`left out: the suites against a real kube-apiserver: ${missing}\n`);
    skip(missing);
  }
});
