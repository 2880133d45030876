import { test } from "vitest";
import { missingAssets } from "../support/kube/kube-cluster.ts";

/** Prints a line if the suites in this folder were skipped. */
test("the servers that this folder's suites need are installed", ({ skip }) => {
  const missing = missingAssets();
  if (missing !== undefined) {
    process.stdout.write(`skipped: the suites against a real kube-apiserver: ${missing}\n`);
    skip(missing);
  }
});
