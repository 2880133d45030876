import type { Pod, PodCondition } from "../../agent/api/core.ts";
import { isFinished } from "../../agent/api/pods.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../agent/base/clock.ts";

/** The state that a board keeps of a pod that it runs, as long as it has power. */
export interface PodRun {
  readonly startsAt: Instant;
  readonly restarts: number;
  readonly ip: string;
  /** When the pod will have terminated; set once its deletion is requested. */
  readonly endsAt?: Instant;
}

export interface PodPace {
  /** Time from the binding until the pod runs. */
  readonly start: Millis;
  /** Time from the deletion request until the pod has terminated. A shorter grace period takes precedence. */
  readonly finish: Millis;
}

/** The kubelet's next step for a pod. */
export interface PodStep {
  readonly run: PodRun;
  /** A status to post, as a strategic merge patch. */
  readonly status?: object;
  /** The pod has terminated, so its object can be deleted. */
  readonly remove?: true;
  /** Time until the next step is due if nothing changes. */
  readonly after?: Millis;
}

/** The state of a pod that this boot sees for the first time. A pod that ran before the power cut is restarted. */
export function beginRun(pod: Pod, ip: string, pace: PodPace, now: Instant): PodRun {
  const before = pod.status?.containerStatuses?.[0];
  const restarts = before === undefined ? 0 : before.restartCount + (before.started ? 1 : 0);
  return { startsAt: shifted(now, pace.start), restarts, ip: pod.status?.podIP ?? ip };
}

/**
 * The kubelet's next step for a pod. It restores a status that another writer overwrote, so that a pod that the site
 * marked not ready becomes ready again once its board can report.
 */
export function podStep(pod: Pod, run: PodRun, hostIp: string, pace: PodPace, now: Instant): PodStep {
  if (pod.metadata.deletionTimestamp !== undefined) return ending(pod, run, pace, now);
  if (isFinished(pod)) return { run };
  const running = elapsed(run.startsAt, now) >= 0;
  const wanted = { running, run, hostIp };
  return {
    run,
    ...(!isShown(pod, wanted) && { status: statusOf(pod, wanted, now) }),
    ...(!running && { after: elapsed(now, run.startsAt) }),
  };
}

function ending(pod: Pod, run: PodRun, pace: PodPace, now: Instant): PodStep {
  const grace = (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000;
  const endsAt = run.endsAt ?? shifted(now, isFinished(pod) ? 0 : Math.min(grace, pace.finish));
  const left = elapsed(now, endsAt);
  return left > 0 ? { run: { ...run, endsAt }, after: left } : { run: { ...run, endsAt }, remove: true };
}

interface Wanted {
  readonly running: boolean;
  readonly run: PodRun;
  readonly hostIp: string;
}

function isShown({ status }: Pod, { running, run }: Wanted): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status;
  const containers = status?.containerStatuses ?? [];
  return (
    ready === (running ? "True" : "False") &&
    (!running || (status?.phase === "Running" && status.podIP === run.ip)) &&
    containers.length > 0 &&
    containers.every((one) => one.ready === running && one.restartCount === run.restarts)
  );
}

function statusOf(pod: Pod, { running, run, hostIp }: Wanted, now: Instant): object {
  const started = timestamp(run.startsAt);
  const state = running
    ? { running: { startedAt: started } }
    : { waiting: { reason: "ContainerCreating", message: "the simulated board is starting it" } };
  return {
    phase: running || run.restarts > 0 ? "Running" : "Pending",
    startTime: pod.status?.startTime ?? timestamp(now),
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    ...(running && { podIP: run.ip, podIPs: [{ ip: run.ip }] }),
    conditions: [
      condition(pod, "PodScheduled", true, now),
      condition(pod, "Initialized", true, now),
      condition(pod, "ContainersReady", running, now),
      condition(pod, "Ready", running, now),
    ],
    containerStatuses: (pod.spec?.containers ?? []).map(({ name, image = "" }) => ({
      name,
      image,
      imageID: "",
      ready: running,
      started: running,
      restartCount: run.restarts,
      state,
    })),
  };
}

/** A condition of the pod. It keeps its transition time while its status is unchanged, and loses an outdated reason. */
function condition(pod: Pod, type: string, holds: boolean, now: Instant): object {
  const status = holds ? "True" : "False";
  const before: PodCondition | undefined = pod.status?.conditions?.find((one) => one.type === type);
  return {
    type,
    status,
    reason: holds ? null : "ContainersNotReady",
    message: holds ? null : "its containers are being started",
    lastTransitionTime: (before?.status === status ? before.lastTransitionTime : undefined) ?? timestamp(now),
  };
}
