import type { Mutant } from "./mutant.ts";
import { each, meddles, sent, tells } from "./mutant.ts";

/** Servers whose watches end wrongly or not at all. */
export const endingMutants: readonly Mutant[] = [
  {
    does: "ends a watch silently when its history is compacted",
    breaks: ["expired-watch"],
    made: each((event) => (event.type === "ERROR" ? [] : [event])),
  },
  {
    does: "answers a watch with 500 when its history is compacted",
    breaks: ["expired-watch"],
    made: each((event) => [
      event.type === "ERROR" ? { ...event, object: { ...event.object, code: 500, reason: "InternalError" } } : event,
    ]),
  },
  { does: "continues a watch from now when its history is compacted", breaks: ["expired-watch"], made: forgiving() },
  { does: "ends a watch from an old version without an error", breaks: ["watch-long-ago"], made: mute() },
  { does: "ends an idle watch", breaks: ["watch-lasts"], made: impatient() },
  { does: "sends an error at the timeout of a watch", breaks: ["watch-ends"], made: complaining() },
];

function forgiving(): Mutant["made"] {
  return (handle) => async (request) => {
    const response = await handle(request);
    if (!request.path.includes("watch=true")) return response;
    const body = async function* (): AsyncGenerator<Uint8Array, void> {
      for await (const part of response.body) {
        if (!Buffer.from(part).toString().includes('"type":"ERROR"')) yield part;
        else
          yield* (await handle({ ...request, path: request.path.replace(/resourceVersion=\d+/, "resourceVersion=0") }))
            .body;
      }
    };
    return { ...response, body: body() };
  };
}

function mute(): Mutant["made"] {
  return meddles(async (handle, request, { isWatch, query }) => {
    const response = await handle(request);
    return isWatch && query.get("resourceVersion") === "1" ? { ...response, body: sent([]) } : response;
  });
}

function impatient(): Mutant["made"] {
  return (handle) => async (request) => {
    const { body, ...response } = await handle(request);
    if (!request.path.includes("watch=true")) return { ...response, body };
    const short = async function* (): AsyncGenerator<Uint8Array, void> {
      const parts = body[Symbol.asyncIterator]();
      for (;;) {
        const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 1000));
        const next = await Promise.race([parts.next(), late]);
        if (next === undefined || next.done === true) return;
        yield next.value;
      }
    };
    return { ...response, body: short() };
  };
}

function complaining(): Mutant["made"] {
  return tells(async function* (events) {
    yield* events;
    yield { type: "ERROR", object: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code: 500 } };
  });
}
