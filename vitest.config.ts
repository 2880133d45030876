import { defineConfig } from "vitest/config";

/** `unit` needs nothing but this folder; `kube` needs the servers that KUBEBUILDER_ASSETS names. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/kube/**"],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "kube",
          include: ["test/kube/**/*.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
