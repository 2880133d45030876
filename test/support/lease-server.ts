import type { Lease } from "../../agent/api/core.ts";
import { isJsonObject, type JsonObject } from "../../agent/api/json.ts";
import type { KubeObject, NewObject } from "../../agent/api/meta.ts";
import { parseObject } from "../../agent/api/parse.ts";
import { leases, type Resource } from "../../agent/api/resources.ts";
import { type Clock, type Millis, sleep } from "../../agent/base/clock.ts";
import { ApiError, type Verb } from "../../agent/client/api-error.ts";
import type { LeaseClient } from "../../agent/election/lease-lock.ts";
import { type LeaseRecord, recordOf } from "../../agent/election/lease-record.ts";
import type { Write } from "../../agent/execution/executor.ts";
import { mergedObject } from "../../simulator/patches/merge-patch.ts";

export type LeaseVerb = "get" | "create" | "update";

export interface LeaseRequest {
  readonly at: Millis;
  readonly by: string;
  readonly verb: LeaseVerb;
  readonly body: object;
  /** "ok", "lost", "silence" or the reason for a refusal. */
  answer: string;
  /** The Lease as it was answered. */
  lease: Lease | undefined;
}

/**
 * How requests fail. `lost`: performed, but not answered. `silence`: neither performed nor answered. Otherwise the
 * reason for the refusal.
 */
export interface LeaseFault {
  readonly verb?: LeaseVerb;
  readonly by?: string;
  readonly answer: string;
  /** Requests that pass before the first one fails. */
  readonly skip?: number;
  /** Requests that fail; by default all. */
  readonly times?: number;
}

/** A change of the Lease by a candidate or another program. */
export interface LeaseChange {
  readonly at: Millis;
  readonly by: string;
  readonly what: "create" | "take" | "renew" | "release" | "delete" | "touch";
  readonly term: number | undefined;
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

/** An API server with one Lease. Preconditions and patches work as on a real one, and requests can fail. */
export class LeaseServer {
  readonly requests: LeaseRequest[] = [];
  readonly changes: LeaseChange[] = [];
  object: Lease | undefined;
  readonly #clock: Clock;
  #faults: { fault: LeaseFault; skip: number; times: number }[] = [];
  #version = 0;
  #uids = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get lease(): LeaseRecord | undefined {
    return this.object && recordOf(this.object);
  }

  break(fault: LeaseFault): void {
    this.#faults.push({ fault, skip: fault.skip ?? 0, times: fault.times ?? Number.POSITIVE_INFINITY });
  }

  heal(): void {
    this.#faults = [];
  }

  /** A write by another program: a merge patch without preconditions. */
  write(patch: JsonObject, by = "another program"): void {
    this.#store(mergedObject(this.#before() ?? this.#fresh(), patch), "touch", by);
  }

  remove(by = "another program"): void {
    this.object = undefined;
    this.#note("delete", by);
  }

  /** Receives a request, and returns whether it fails. */
  receive(by: string, verb: LeaseVerb, body: object): { readonly request: LeaseRequest; readonly fault?: string } {
    const request = { at: this.#clock.now().mono, by, verb, body, answer: "", lease: undefined };
    this.requests.push(request);
    const one = this.#faults.find(
      ({ fault, times }) => times > 0 && (fault.verb ?? verb) === verb && (fault.by ?? by) === by,
    );
    if (one === undefined) return { request };
    if (one.skip > 0) {
      one.skip--;
      return { request };
    }
    one.times--;
    return { request, fault: one.fault.answer };
  }

  perform({ verb, by, body }: LeaseRequest): Lease {
    switch (verb) {
      case "get":
        if (this.object === undefined) throw refusal("get", "NotFound");
        return this.object;
      case "create":
        if (this.object !== undefined) throw refusal("create", "AlreadyExists");
        return this.#store(mergedObject(this.#fresh(), jsonOf(body)), "create", by);
      case "update":
        return this.#patch(jsonOf(body), by);
      default:
        return verb satisfies never;
    }
  }

  /** The patch's uid and resourceVersion are its preconditions. */
  #patch(patch: JsonObject, by: string): Lease {
    const lease = this.object;
    if (lease === undefined) throw refusal("patch", "NotFound");
    const { uid = lease.metadata.uid, resourceVersion } = isJsonObject(patch.metadata) ? patch.metadata : {};
    const version = resourceVersion ?? lease.metadata.resourceVersion;
    if (uid !== lease.metadata.uid || version !== lease.metadata.resourceVersion) throw refusal("patch", "Conflict");
    const { holderIdentity } = isJsonObject(patch.spec) ? patch.spec : {};
    const what = holderIdentity === undefined ? "renew" : holderIdentity === "" ? "release" : "take";
    return this.#store(mergedObject(this.#before() ?? {}, patch), what, by);
  }

  #store(object: JsonObject, what: LeaseChange["what"], by: string): Lease {
    const metadata = isJsonObject(object.metadata) ? object.metadata : {};
    const parsed = parseObject({ ...object, metadata: { ...metadata, resourceVersion: `${++this.#version}` } }, leases);
    if (!parsed.ok) throw new Error(parsed.why);
    this.object = parsed.object;
    this.#note(what, by);
    return parsed.object;
  }

  #note(what: LeaseChange["what"], by: string): void {
    this.changes.push({ at: this.#clock.now().mono, by, what, term: this.lease?.term });
  }

  #before(): JsonObject | undefined {
    return this.object && jsonOf(this.object);
  }

  #fresh(): JsonObject {
    const uid = `lease-${++this.#uids}`;
    return { metadata: { namespace: "kube-system", name: "siteward", uid, resourceVersion: "0" }, spec: {} };
  }
}

/** As it goes over the wire. */
function jsonOf(body: object): JsonObject {
  const json: unknown = JSON.parse(JSON.stringify(body));
  if (!isJsonObject(json)) throw new Error("the body of a request is an object");
  return json;
}

/** One candidate's link to the server. It has a delay and can be cut; no answer arrives while it is cut. */
export class LeaseLink implements LeaseClient {
  /** both: nothing arrives anywhere. answers: requests arrive, but their answers do not. */
  cut: "both" | "answers" | undefined;
  /** How long a request takes to arrive, and its answer to return. */
  latency: { readonly request: Millis; readonly answer: Millis };
  /** The same for writes; undefined: as for reads. */
  latencyOfWrites: LeaseLink["latency"] | undefined;
  readonly #server: LeaseServer;
  readonly #clock: Clock;
  readonly #by: string;

  constructor(deps: { server: LeaseServer; clock: Clock; by: string; latency: LeaseLink["latency"] }) {
    this.#server = deps.server;
    this.#clock = deps.clock;
    this.#by = deps.by;
    this.latency = deps.latency;
  }

  // Leases are the only resource that is requested here.

  get<T extends KubeObject>(_resource: Resource<T>, _at: object, signal: AbortSignal): Promise<T> {
    return this.#exchange("get", {}, { signal }) as Promise<KubeObject> as Promise<T>;
  }

  create<T extends KubeObject>(_resource: Resource<T>, _in: unknown, object: NewObject, write: Write): Promise<T> {
    return this.#exchange("create", object, write) as Promise<KubeObject> as Promise<T>;
  }

  patch<T extends KubeObject>(
    _resource: Resource<T>,
    _at: object,
    _type: "merge" | "strategic" | "json",
    patch: object,
    write: Write,
  ): Promise<T> {
    return this.#exchange("update", patch, write) as Promise<KubeObject> as Promise<T>;
  }

  async #exchange(verb: LeaseVerb, body: object, { signal, guard }: Write): Promise<Lease> {
    signal.throwIfAborted();
    guard?.();
    const latency = verb === "get" ? this.latency : (this.latencyOfWrites ?? this.latency);
    await this.#travel(latency.request, signal);
    if (this.cut === "both") return await never(signal);
    const { request, fault } = this.#server.receive(this.#by, verb, body);
    if (fault === "silence") {
      request.answer = fault;
      return await never(signal);
    }
    const answer = this.#answer(request, fault);
    await this.#travel(latency.answer, signal);
    return request.answer === "lost" || this.cut !== undefined ? await never(signal) : answer();
  }

  #answer(request: LeaseRequest, fault: string | undefined): () => Lease {
    try {
      if (fault !== undefined && fault !== "lost")
        throw refusal(request.verb === "update" ? "patch" : request.verb, fault);
      const lease = this.#server.perform(request);
      request.lease = lease;
      request.answer = fault === "lost" || this.cut === "answers" ? "lost" : "ok";
      return () => lease;
    } catch (error) {
      if (error instanceof ApiError) request.answer = error.reason;
      return () => {
        throw error;
      };
    }
  }

  async #travel(latency: Millis, signal: AbortSignal): Promise<void> {
    if (latency > 0) await sleep(this.#clock, latency, signal);
    signal.throwIfAborted();
  }
}

/** Until the caller gives up. */
const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
