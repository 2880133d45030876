import { defineConfig } from "vitest/config";

/** Real time and real processes on a machine that others use: a story that fails runs once more, and the report says so. */
const retry = 1;

/**
 * `unit` and `scenarios` need nothing but this folder; scenarios run real processes in real time, so they run by
 * themselves. `kube` needs the servers that KUBEBUILDER_ASSETS names. `systemd` boots throw-away hosts with a real systemd;
 * where this machine cannot have one, it says why and is left out. `broker` needs mosquitto, and says so where there is none.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [
            "test/kube/**",
            "test/scenarios/**",
            "test/power/**",
            "test/systemd/**",
            "test/package/**",
            "test/broker/**",
            "test/endurance/**",
          ],
          setupFiles: ["test/support/mutation-detector.ts"],
          testTimeout: 30_000,
          // What a story polls for is there in milliseconds; a busy machine takes seconds.
          expect: { poll: { timeout: 10_000 } },
          retry,
        },
      },
      {
        test: {
          name: "scenarios",
          include: ["test/scenarios/**/*.test.ts", "test/power/**/*.test.ts", "test/endurance/**/*.test.ts"],
          testTimeout: 180_000,
          maxWorkers: 2,
          retry,
        },
      },
      {
        test: {
          name: "kube",
          // kubectl comes with the servers: its stories about the embedded API run here as well.
          include: ["test/kube/**/*.test.ts", "test/simulator/site-api/kubectl.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          // Stories mostly wait for real time to pass.
          maxWorkers: 2,
          retry,
        },
      },
      {
        test: {
          name: "systemd",
          include: ["test/systemd/**/*.test.ts", "test/package/**/*.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 300_000,
          retry,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "broker",
          include: ["test/broker/**/*.test.ts"],
          testTimeout: 120_000,
          retry,
          fileParallelism: false,
        },
      },
    ],
  },
});
