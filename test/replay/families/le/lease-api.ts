import type { Lease } from "../../../../agent/api/core.ts";
import { isJsonObject, type JsonObject } from "../../../../agent/api/json.ts";
import type { KubeObject, NewObject } from "../../../../agent/api/meta.ts";
import { parseObject } from "../../../../agent/api/parse.ts";
import { leases, type Resource } from "../../../../agent/api/resources.ts";
import { type Clock, type Millis, sleep } from "../../../../agent/base/clock.ts";
import { ApiError, type Verb } from "../../../../agent/client/api-error.ts";
import type { LeaseClient } from "../../../../agent/election/lease-lock.ts";
import type { Write } from "../../../../agent/execution/executor.ts";
import { mergedObject } from "../../../../simulator/patches/merge-patch.ts";
import { MalformedCase } from "../../malformed.ts";
import type { CaseTime } from "../../site/case-time.ts";
import type { Fault, LeaseGiven } from "./forms.ts";

export type CaseVerb = "get" | "create" | "update";

export interface Request {
  readonly atMs: Millis;
  readonly by: string;
  readonly verb: CaseVerb;
  answer: string;
  holder: string | undefined;
  leaseDurationSeconds: number | undefined;
  leaseTransitions: number | undefined;
}

const httpStatus: Readonly<Record<string, number>> = {
  Conflict: 409,
  NotFound: 404,
  AlreadyExists: 409,
  Forbidden: 403,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  ConnectionRefused: 0,
};

const refusal = (verb: Verb, reason: string): ApiError =>
  new ApiError({ verb, target: "lease siteward" }, { status: httpStatus[reason] ?? 500, reason, message: reason });

/** An API server with one Lease, whose preconditions hold as on a real one, and whose requests can go wrong. */
export class LeaseApi {
  readonly requests: Request[] = [];
  lease: Lease | undefined;
  readonly #clock: Clock;
  readonly #time: CaseTime;
  #faults: { fault: Fault; skip: number; times: number }[] = [];
  #version = 0;
  #uids = 0;

  constructor(clock: Clock, time: CaseTime) {
    this.#clock = clock;
    this.#time = time;
  }

  break(fault: Fault): void {
    this.#faults.push({ fault, skip: fault.skip ?? 0, times: fault.times ?? Number.POSITIVE_INFINITY });
  }

  heal(): void {
    this.#faults = [];
  }

  /** As another program does it. */
  write({ holder, leaseDurationSeconds, leaseTransitions }: LeaseGiven): void {
    const spec = {
      ...(holder !== undefined && { holderIdentity: holder }),
      ...(leaseDurationSeconds !== undefined && { leaseDurationSeconds }),
      ...(leaseTransitions !== undefined && { leaseTransitions }),
      renewTime: this.#time.stamp(this.#clock.now().mono),
    };
    const before: unknown = this.lease;
    this.store(mergedObject(isJsonObject(before) ? before : this.#fresh(), { spec }));
  }

  /** Sees a request, and says whether it fails. */
  arrived(by: string, verb: CaseVerb): { readonly request: Request; readonly answer: Fault["answer"] | undefined } {
    const request: Request = {
      atMs: Math.round(this.#clock.now().mono),
      by,
      verb,
      answer: "",
      holder: undefined,
      leaseDurationSeconds: undefined,
      leaseTransitions: undefined,
    };
    this.requests.push(request);
    const one = this.#faults.find(
      ({ fault, times }) => times > 0 && (fault.verb ?? verb) === verb && (fault.by ?? by) === by,
    );
    if (one === undefined) return { request, answer: undefined };
    if (one.skip > 0) {
      one.skip--;
      return { request, answer: undefined };
    }
    one.times--;
    return { request, answer: one.fault.answer };
  }

  read(): Lease {
    if (this.lease === undefined) throw refusal("get", "NotFound");
    return this.lease;
  }

  create(object: NewObject): Lease {
    if (this.lease) throw refusal("create", "AlreadyExists");
    const fresh: unknown = JSON.parse(JSON.stringify(object));
    return this.store(mergedObject(this.#fresh(), isJsonObject(fresh) ? fresh : {}));
  }

  /** uid and resourceVersion of the patch are its preconditions. */
  patch(patch: object): Lease {
    const lease = this.lease;
    if (lease === undefined) throw refusal("patch", "NotFound");
    const body: unknown = JSON.parse(JSON.stringify(patch));
    if (!isJsonObject(body)) throw new Error("a patch of an object is an object");
    const { uid = lease.metadata.uid, resourceVersion } = isJsonObject(body.metadata) ? body.metadata : {};
    const version = resourceVersion ?? lease.metadata.resourceVersion;
    if (uid !== lease.metadata.uid || version !== lease.metadata.resourceVersion) throw refusal("patch", "Conflict");
    const before: unknown = lease;
    return this.store(mergedObject(isJsonObject(before) ? before : {}, body));
  }

  store(object: JsonObject): Lease {
    const metadata = isJsonObject(object.metadata) ? object.metadata : {};
    const parsed = parseObject({ ...object, metadata: { ...metadata, resourceVersion: `${++this.#version}` } }, leases);
    if (!parsed.ok) throw new MalformedCase([parsed.why]);
    this.lease = parsed.object;
    return parsed.object;
  }

  #fresh(): JsonObject {
    const uid = `lease-${++this.#uids}`;
    return { metadata: { namespace: "kube-system", name: "siteward", uid, resourceVersion: "0" }, spec: {} };
  }
}

/** One candidate's way to the API server. */
export class LeaseLink implements LeaseClient {
  cut: "both" | "answers" | undefined;
  readonly #api: LeaseApi;
  readonly #clock: Clock;
  readonly #by: string;
  readonly #latency: Millis;

  constructor(parts: { readonly api: LeaseApi; readonly clock: Clock; readonly by: string; readonly latency: Millis }) {
    this.#api = parts.api;
    this.#clock = parts.clock;
    this.#by = parts.by;
    this.#latency = parts.latency;
  }

  // The one resource that is asked for here is that of Leases.

  get<T extends KubeObject>(_resource: Resource<T>, _at: object, signal: AbortSignal): Promise<T> {
    return this.#exchange("get", { signal }, () => this.#api.read()) as Promise<KubeObject> as Promise<T>;
  }

  create<T extends KubeObject>(_resource: Resource<T>, _in: unknown, object: NewObject, write: Write): Promise<T> {
    return this.#exchange("create", write, () => this.#api.create(object)) as Promise<KubeObject> as Promise<T>;
  }

  patch<T extends KubeObject>(
    _resource: Resource<T>,
    _at: object,
    _type: "merge" | "strategic" | "json",
    patch: object,
    write: Write,
  ): Promise<T> {
    return this.#exchange("update", write, () => this.#api.patch(patch)) as Promise<KubeObject> as Promise<T>;
  }

  async #exchange(verb: CaseVerb, { signal, guard }: Write, perform: () => Lease): Promise<Lease> {
    signal.throwIfAborted();
    guard?.();
    if (this.#latency > 0) await sleep(this.#clock, this.#latency, signal);
    signal.throwIfAborted();
    if (this.cut === "both") return never(signal);
    const { request, answer } = this.#api.arrived(this.#by, verb);
    if (answer === "silence") {
      request.answer = answer;
      return never(signal);
    }
    if (answer !== undefined && answer !== "lost") {
      request.answer = answer;
      throw refusal(verb === "update" ? "patch" : verb, answer);
    }
    try {
      const lease = perform();
      const { holderIdentity, leaseDurationSeconds, leaseTransitions } = lease.spec ?? {};
      const isLost = answer === "lost" || this.cut === "answers";
      Object.assign(request, { holder: holderIdentity ?? "", leaseDurationSeconds, leaseTransitions });
      request.answer = isLost ? "lost" : "ok";
      return isLost ? never(signal) : lease;
    } catch (error) {
      if (error instanceof ApiError) request.answer = error.reason;
      throw error;
    }
  }
}

/** Until whoever asked gives up. */
const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
