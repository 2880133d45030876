import type { KubeObject } from "../../../agent/api/meta.ts";
import { nodes, pods } from "../../../agent/api/resources.ts";
import { ListDecoder } from "../../../agent/client/decoding/list-decoder.ts";
import { keptInEvent } from "../../../agent/client/decoding/members.ts";
import { keepMembers, type MemberFilter, reducedHead } from "../../../agent/client/decoding/reduce.ts";
import { brokenOffWith, refusedWith } from "../../../agent/client/status-document.ts";
import { watchEvents } from "../../../agent/client/watch-stream.ts";
import { kindOf } from "../../../agent/informer/kinds/kinds.ts";
import { pauseAfter } from "../../../agent/informer/reflector/retry-pace.ts";
import { hintFor } from "../../../agent/informer/reflector/watch-errors.ts";
import { concat, envelope, field } from "../../agent/client/decoding/protobuf-bytes.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { exampleOf } from "../examples.ts";
import { ensure, jsonIn, type Target } from "../target.ts";

const attempt = { verb: "watch", target: "pods" } as const;

async function* cut(bytes: Buffer, random: SeededRandom): AsyncGenerator<Uint8Array> {
  for (const piece of pieces(bytes, random)) yield piece;
}

function* pieces(bytes: Buffer, random: SeededRandom): Generator<Uint8Array> {
  const most = random.integer(2) === 0 ? bytes.length + 1 : 1 + random.integer(400);
  for (let at = 0; at < bytes.length; ) {
    const to = at + 1 + random.integer(most);
    yield bytes.subarray(at, to);
    at = to;
  }
}

const pod = (random: SeededRandom): object => exampleOf.pods?.(random) ?? {};

const watch: Target = {
  name: "watch",
  form: "text",
  open: () => ({
    example: (random) =>
      Array.from({ length: 1 + random.integer(4) }, () => {
        const type = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"][random.integer(5)];
        const object =
          type === "ERROR" ? { kind: "Status", code: 410, reason: "Expired", message: "too old" } : pod(random);
        return `${JSON.stringify({ type, object })}\n`;
      }).join(""),
    run: async (input, random) => {
      let good = 0;
      for await (const event of watchEvents(cut(input, random), { resource: pods }, attempt)) {
        if (event.type === "ERROR") {
          hintFor(event.error);
          ensure(Number.isFinite(pauseAfter(event.error)), "a pause has an end");
        } else if (event.type === "REJECTED" || event.type === "UNREADABLE") {
          ensure(event.why.length < 1000, "a reason is a short sentence");
        } else if (event.type === "BOOKMARK") {
          ensure(typeof event.resourceVersion === "string" && event.resourceVersion !== "", "a position is a text");
        } else {
          JSON.stringify(kindOf(pods).trim(event.object));
          good++;
        }
      }
      return good > 0;
    },
  }),
};

function listed(decoder: ListDecoder<KubeObject>, input: Buffer, random: SeededRandom): boolean {
  for (const piece of pieces(input, random)) decoder.push(piece);
  const meta = decoder.end();
  ensure(decoder.rejected.length <= decoder.rejectedItems, "each reason stands for an object");
  return meta !== undefined && decoder.items > 0;
}

const jsonList: Target = {
  name: "list-json",
  form: "json",
  open: () => ({
    example: (random) =>
      JSON.stringify({
        kind: "NodeList",
        apiVersion: "v1",
        metadata: { resourceVersion: "77", continue: "next" },
        items: Array.from({ length: 1 + random.integer(4) }, () => exampleOf.nodes?.(random)),
      }),
    run: (input, random) =>
      listed(new ListDecoder<KubeObject>(nodes, { each: (node) => void JSON.stringify(node) }), input, random),
  }),
};

/** A text without the members that are not kept has the members that are, as if it had been parsed. */
const reducedText: Target = {
  name: "reduced-text",
  form: "json",
  open: () => ({
    example: (random) => JSON.stringify({ type: "ADDED", object: pod(random), items: [[], [{ a: 1 }]] }),
    run: (input) => {
      const text = input.toString();
      const filter = keptInEvent(pods);
      const head = reducedHead(text, filter);
      const whole = jsonIn(input);
      if (whole === undefined || typeof whole !== "object") return false;
      const parsed = keepMembers(text, filter);
      ensure(parsed !== undefined, "valid JSON can be reduced");
      ensure(head === undefined || head === parsed?.trim(), "a whole text is its own beginning");
      // Serialising thousands of levels would overflow the stack.
      const isPlain =
        !text.includes("[".repeat(100)) && !text.includes('{"v":'.repeat(20)) && JSON.stringify(whole) === text;
      ensure(!isPlain || JSON.stringify(filtered(whole, filter)) === parsed, "the kept members are unchanged");
      return true;
    },
  }),
};

function filtered(value: unknown, filter: MemberFilter): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => (Array.isArray(one) ? one : filtered(one, filter)));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const inner = filter(JSON.stringify(name).slice(1, -1));
    return inner === false ? [] : [[name, inner === true ? member : filtered(member, inner)] as const];
  });
  return Object.fromEntries(kept);
}

const protobufList: Target = {
  name: "list-protobuf",
  form: "bytes",
  open: () => ({
    example: (random) =>
      envelope(
        "PodList",
        concat(
          field(1, concat(field(2, "77"), field(3, "next"))),
          ...Array.from({ length: 1 + random.integer(4) }, () => field(2, protobufPod(random))),
        ),
      ),
    run: (input, random) =>
      listed(new ListDecoder<KubeObject>(pods, { each: (one) => void JSON.stringify(one) }), input, random),
  }),
};

function protobufPod(random: SeededRandom): Buffer {
  const pair = (name: string, value: string) => concat(field(1, name), field(2, value));
  const metadata = concat(
    field(1, `web-${random.integer(9)}`),
    field(3, "shop"),
    field(5, `u-${random.integer(9)}`),
    field(6, `${random.integer(999)}`),
    field(8, concat(field(1, 1_700_000_000 + random.integer(9999)), field(2, random.integer(1_000_000)))),
    field(11, pair("app", "web")),
    field(12, pair("note", "x")),
  );
  const toleration = concat(field(1, "k"), field(2, "Exists"), field(4, "NoExecute"), field(5, random.integer(300)));
  const spec = concat(field(7, pair("disk", "ssd")), field(10, "pi-1"), field(22, toleration));
  const condition = concat(field(1, "Ready"), field(2, "True"));
  return concat(field(1, metadata), field(2, spec), field(3, concat(field(1, "Running"), field(2, condition))));
}

const refusals: Target = {
  name: "refusal",
  form: "json",
  open: () => ({
    example: (random) =>
      JSON.stringify({
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        message: 'pods is forbidden: User "a" cannot list resource "pods" in API group "" in the namespace "b"',
        reason: ["Forbidden", "NotFound", "Expired", "TooManyRequests"][random.integer(4)],
        details: { name: "x", kind: "pods", retryAfterSeconds: 3, causes: [{ reason: "ResourceVersionTooLarge" }] },
        code: [403, 404, 410, 429][random.integer(4)],
      }),
    run: (input, random) => {
      const headers = { "retry-after": ["3", "x", "99999999999"][random.integer(3)] ?? "" };
      for (const error of [
        refusedWith(attempt, 400 + random.integer(200), headers, input),
        brokenOffWith(attempt, jsonIn(input)),
      ]) {
        hintFor(error);
        ensure(Number.isFinite(pauseAfter(error)), "a pause has an end");
        ensure(error.message !== "", "an error has a message");
      }
      return true;
    },
  }),
};

export const streams: readonly Target[] = [reducedText, watch, jsonList, protobufList, refusals];
