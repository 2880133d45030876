import type { Pod } from "../../agent/api/core.ts";
import type { KubeObject, NewObject } from "../../agent/api/meta.ts";
import { pods, type Resource } from "../../agent/api/resources.ts";
import { type Clock, type Millis, sleep } from "../../agent/base/clock.ts";
import { ApiError, type Verb } from "../../agent/client/api-error.ts";
import type { Action, ObjectRef } from "../../agent/execution/actions.ts";
import type { Write, Writer } from "../../agent/execution/executor.ts";
import type { Term } from "../../agent/execution/fence.ts";

export interface Request {
  readonly verb: Verb;
  readonly name: string;
  readonly body: object;
}

/** An API with the few objects that a story needs, their uids and resourceVersions, and failures on request. */
export class SmallApi implements Writer {
  readonly objects = new Map<string, KubeObject>();
  readonly requests: Request[] = [];
  latency: Millis = 0;
  inflight = 0;
  mostInflight = 0;
  /** Throws, or answers by doing nothing. */
  refuse: (request: Request) => void = () => {};
  readonly #clock: Clock;
  #version = 100;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(name: string, more: object = {}): ObjectRef {
    const metadata = { name, namespace: "default", uid: `uid-${name}`, resourceVersion: String(++this.#version) };
    this.objects.set(name, { metadata, ...more });
    return { resource: pods, ...metadata };
  }

  create<T extends KubeObject>(
    _resource: Resource<T>,
    namespace: string | undefined,
    object: NewObject,
    write: Write,
  ): Promise<T> {
    const name = object.metadata.name ?? `${object.metadata.generateName}${++this.#version}`;
    return this.#exchange({ verb: "create", name, body: object }, write, () => {
      if (this.objects.has(name)) throw refusal("create", 409, "AlreadyExists");
      const metadata = { ...object.metadata, name, uid: `uid-${name}`, resourceVersion: String(++this.#version) };
      const created: KubeObject = {
        ...object,
        metadata: namespace === undefined ? metadata : { ...metadata, namespace },
      };
      this.objects.set(name, created);
      return created as T;
    });
  }

  patch<T extends KubeObject>(
    _resource: Resource<T>,
    at: { namespace?: string; name: string },
    _type: string,
    patch: object,
    write: Write,
  ): Promise<T> {
    return this.#exchange({ verb: "patch", name: at.name, body: patch }, write, () => {
      const stored = this.#stored(at.name, "patch");
      const { uid, resourceVersion } = "metadata" in patch ? (patch.metadata as Partial<KubeObject["metadata"]>) : {};
      if (uid !== undefined && uid !== stored.metadata.uid) throw refusal("patch", 409, "Conflict");
      if (resourceVersion !== undefined && resourceVersion !== stored.metadata.resourceVersion) {
        throw refusal("patch", 409, "Conflict");
      }
      const metadata = { ...stored.metadata, resourceVersion: String(++this.#version) };
      const patched: KubeObject = { ...stored, ...patch, metadata };
      this.objects.set(at.name, patched);
      return patched as T;
    });
  }

  delete(
    _resource: Resource<KubeObject>,
    at: { namespace?: string; name: string },
    options: { uid?: string; resourceVersion?: string },
    write: Write,
  ): Promise<void> {
    return this.#exchange({ verb: "delete", name: at.name, body: options }, write, () => {
      const { uid } = this.#stored(at.name, "delete").metadata;
      if (options.uid !== uid) throw refusal("delete", 409, "Conflict");
      this.objects.delete(at.name);
    });
  }

  evict(at: { namespace: string; name: string }, options: { uid?: string }, write: Write): Promise<void> {
    return this.#exchange({ verb: "evict", name: at.name, body: options }, write, () => {
      this.#stored(at.name, "evict");
      this.objects.delete(at.name);
    });
  }

  bind(at: { name: string }, { board }: { board: string }, write: Write): Promise<void> {
    return this.#exchange({ verb: "bind", name: at.name, body: { board } }, write, () => {
      const stored = this.#stored(at.name, "bind");
      this.objects.set(at.name, { ...stored, ...{ spec: { nodeName: board } } });
    });
  }

  #stored(name: string, verb: Verb): KubeObject {
    const stored = this.objects.get(name);
    if (!stored) throw refusal(verb, 404, "NotFound");
    return stored;
  }

  async #exchange<T>(request: Request, { signal, guard }: Write, work: () => T): Promise<T> {
    this.mostInflight = Math.max(this.mostInflight, ++this.inflight);
    try {
      signal.throwIfAborted();
      guard?.();
      this.requests.push(request);
      this.refuse(request);
      if (this.latency > 0) await sleep(this.#clock, this.latency, signal);
      signal.throwIfAborted();
      return work();
    } finally {
      this.inflight--;
    }
  }
}

export const refusal = (verb: Verb, status: number, reason: string): ApiError =>
  new ApiError({ verb, target: "something" }, { status, reason, message: reason });

/** A term whose end the test decides. */
export class TestTerm implements Term {
  readonly number: number;
  over = false;
  readonly #abort = new AbortController();

  constructor(number = 1) {
    this.number = number;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  standsAt(): boolean {
    return !this.over;
  }

  end(): void {
    this.over = true;
    this.#abort.abort(new Error("over"));
  }
}

export const pod = (name: string, more: Partial<Pod> = {}): Pod => ({
  metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1" },
  ...more,
});

export const create = (name: string): Action => ({
  do: "create",
  resource: pods,
  object: { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } },
});

export const deletion = (target: ObjectRef): Action => ({ do: "delete", target });

export const patch = (target: ObjectRef, body: object): Action => ({ do: "patch", target, type: "merge", patch: body });
