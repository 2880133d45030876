import { isRecord, type JsonRecord } from "../../base/json.ts";
import { jsonText } from "../../base/text/terminal-text.ts";
import { localScope } from "../desk/definitions/registry.ts";
import type { CommandTaker } from "../desk/desk.ts";
import type { Answer } from "../desk/request.ts";
import type { ControlRequest } from "./http-request.ts";

export interface ControlApiDeps {
  readonly desk: CommandTaker;
  /** Loops that make no progress; empty if all are healthy. */
  readonly stuck: () => readonly string[];
  /** The reasons, apart from its links and loops, why the agent is not ready; empty if there are none. */
  readonly missing: () => readonly string[];
  readonly status: () => JsonRecord | undefined;
  readonly metrics: () => string;
}

/** A reply with `lines` contains one JSON document per line, sent as the documents arrive. */
export type Reply =
  | { readonly status: number; readonly type: string; readonly text: string; readonly headers?: readonly string[] }
  | { readonly status: number; readonly type: string; readonly lines: AsyncIterable<JsonRecord> };

const plain = "text/plain; charset=utf-8";
const json = "application/json";
const stream = "application/x-ndjson";

/** Answers a request to the control socket (docs/interfaces.md#ctlsock). */
export async function reply(request: ControlRequest, deps: ControlApiDeps): Promise<Reply> {
  const { method, path } = request;
  if (path === "/v1/cmd") return method === "POST" ? await command(request, deps) : notAllowed("POST");
  const answer = reads.get(path);
  if (!answer)
    return {
      status: 404,
      type: plain,
      text: `unknown path; known paths: ${[...reads.keys()].join(", ")}, and POST /v1/cmd\n`,
    };
  return method === "GET" || method === "HEAD" ? answer(deps) : notAllowed("GET, HEAD");
}

const notAllowed = (allow: string): Reply => ({
  status: 405,
  type: plain,
  text: `only ${allow}\n`,
  headers: [`Allow: ${allow}`],
});

const reads: ReadonlyMap<string, (deps: ControlApiDeps) => Reply> = new Map([
  ["/healthz", ({ stuck }) => verdict(stuck())],
  ["/readyz", ({ stuck, missing }) => verdict([...missing(), ...stuck()])],
  [
    "/status",
    ({ status }) => {
      const found = status();
      return found
        ? { status: 200, type: json, text: `${jsonText(found)}\n` }
        : { status: 503, type: plain, text: "there is no status yet\n" };
    },
  ],
  ["/metrics", ({ metrics }) => ({ status: 200, type: "text/plain; version=0.0.4; charset=utf-8", text: metrics() })],
]);

const verdict = (problems: readonly string[]): Reply =>
  problems.length === 0
    ? { status: 200, type: plain, text: "ok\n" }
    : { status: 503, type: plain, text: problems.map((problem) => `${problem}\n`).join("") };

/** Accepts the same envelope as the fleet sends; the scope follows from the command's name and arguments. */
async function command({ body, headers }: ControlRequest, { desk }: ControlApiDeps): Promise<Reply> {
  const { name, id, by, args } = peeked(body);
  const taken = await desk.take({
    origin: "local",
    scope: localScope(name, args),
    topic: "",
    name,
    id,
    payload: body,
    retained: false,
    expirySeconds: undefined,
    // The socket's group decides who may connect; the user id is self-reported.
    author: /^local:[0-9]{1,10}$/.test(by) ? by : "local:unknown",
  });
  if (taken === "no answer") {
    return {
      status: 400,
      type: json,
      text: `${JSON.stringify({ state: "rejected", code: 400, error: "malformed", message: "a command must have an id and a name" })}\n`,
    };
  }
  const { answer, later } = taken;
  if (headers.get("accept") === stream) return { status: 200, type: stream, lines: bodies(answer, later) };
  let last = answer;
  for await (const next of later ?? []) last = next;
  const { code } = last.body;
  return {
    status: last.isTerminal && typeof code === "number" ? code : 202,
    type: json,
    text: `${jsonText(last.body)}\n`,
  };
}

async function* bodies(first: Answer, later: AsyncIterable<Answer> | undefined): AsyncIterable<JsonRecord> {
  yield first.body;
  for await (const { body } of later ?? []) yield body;
}

/** The members needed to hand the command to the desk, which parses the bytes itself and refuses malformed ones. */
function peeked(body: Uint8Array): { name: string; id: string; by: string; args: unknown } {
  const unreadable = { name: "unreadable", id: "unreadable", by: "", args: undefined };
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    if (!isRecord(value)) return unreadable;
    const { name, id, by, args } = value;
    return { name: textOf(name), id: textOf(id), by: textOf(by), args };
  } catch {
    return unreadable;
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
