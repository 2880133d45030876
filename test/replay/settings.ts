import type { NodeLifecycleSettings } from "../../agent/controllers/node-lifecycle/settings.ts";
import { number, optional, type RecordOf, whole } from "./form.ts";

const longest = 366 * 86_400_000;

/** The parameters of node lifecycle, for a family's `config`. Each is followed by kube-controller-manager's option. */
export const lifecycleParameters = {
  evictionQPS: optional(
    number({
      about:
        "Boards per second that may be tainted NoExecute in a zone. Default 0.1, one in 10 s; --node-eviction-rate. A " +
        "large number such as 1000000 means: without a limit.",
      min: 0,
      examples: [0.1, 1],
    }),
  ),
  secondaryEvictionQPS: optional(
    number({
      about:
        "The same in a large zone that is partly disrupted. Default 0.01, one in 100 s; --secondary-node-eviction-rate.",
      min: 0,
    }),
  ),
  largeClusterThreshold: optional(
    whole({
      about:
        "A zone with more boards than this is large; in a zone that is not, a partial disruption stops evictions. " +
        "Default 50; --large-cluster-size-threshold.",
      min: 0,
    }),
  ),
  unhealthyZoneThreshold: optional(
    number({
      about:
        "The share of boards that are not ready from which on a zone is partly disrupted, if they are more than two. " +
        "Default 0.55; --unhealthy-zone-threshold.",
      min: 0,
      max: 1,
    }),
  ),
  nodeMonitorGracePeriodMs: optional(
    number({
      about: "How long a board may be silent, in milliseconds. Default 40000; --node-monitor-grace-period.",
      min: 0,
      max: longest,
    }),
  ),
  nodeStartupGracePeriodMs: optional(
    number({
      about: "The same for a board without a Ready condition. Default 60000; --node-startup-grace-period.",
      min: 0,
      max: longest,
    }),
  ),
  nodeMonitorPeriodMs: optional(
    number({
      about: "Interval between checks of the boards' health, in milliseconds. Default 5000; --node-monitor-period.",
      min: 1,
      max: longest,
    }),
  ),
};

/** The defaults for cases, with policy `kubernetes`. The program's own grace period is longer. */
export const lifecycleSettings = (config: RecordOf<typeof lifecycleParameters>): NodeLifecycleSettings => ({
  policy: "kubernetes",
  ownNode: undefined,
  monitorPeriod: config.nodeMonitorPeriodMs ?? 5000,
  gracePeriod: config.nodeMonitorGracePeriodMs ?? 40_000,
  startupGracePeriod: config.nodeStartupGracePeriodMs ?? 60_000,
  evictionRate: config.evictionQPS ?? 0.1,
  secondaryRate: config.secondaryEvictionQPS ?? 0.01,
  largeZone: config.largeClusterThreshold ?? 50,
  unhealthyZone: config.unhealthyZoneThreshold ?? 0.55,
  stall: 90_000,
  blip: 10_000,
  recovery: 600_000,
  unprovenHold: 900_000,
  zoneHold: 900_000,
  unmanagedHold: 900_000,
});
