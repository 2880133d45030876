import type { Pod, PodCondition } from "../agent/api/core.ts";
import { isFinished } from "../agent/api/pods.ts";
import { timestamp } from "../agent/api/timestamps.ts";
import { elapsed, type Instant, type Millis, shifted } from "../agent/base/clock.ts";

/** What a board knows of a pod that it runs, for as long as it has power. */
export interface PodRun {
  readonly startsAt: Instant;
  readonly restarts: number;
  readonly ip: string;
  /** Once it is asked to end: when it will have ended. */
  readonly endsAt?: Instant;
}

export interface PodPace {
  /** From being bound to running. */
  readonly start: Millis;
  /** From the wish to delete it to its end, where its grace period is not shorter. */
  readonly finish: Millis;
}

/** What the kubelet does about one pod now. */
export interface PodStep {
  readonly run: PodRun;
  /** A status to post, as a strategic merge patch. */
  readonly status?: object;
  /** It has ended: its object can go. */
  readonly remove?: true;
  /** How long until there is something to do although nothing changes. */
  readonly after?: Millis;
}

/** A pod that this boot of the board sees for the first time. One that ran before the power went is started again. */
export function beginRun(pod: Pod, ip: string, pace: PodPace, now: Instant): PodRun {
  const before = pod.status?.containerStatuses?.[0];
  const restarts = before === undefined ? 0 : before.restartCount + (before.started ? 1 : 0);
  return { startsAt: shifted(now, pace.start), restarts, ip: pod.status?.podIP ?? ip };
}

/** Says again what somebody else wrote over it: a pod that the site took for lost is ready as soon as its board can say so. */
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

/** Keeps the transition time while the status stays; clears a reason that no longer holds. */
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
