import type { Mutant } from "./mutant.ts";
import { each, meddles, sent, tells } from "./mutant.ts";

/** Servers whose watches end as they should not, or do not end. */
export const endingMutants: readonly Mutant[] = [
  {
    does: "ends a watch silently where history is gone",
    breaks: ["expired-watch"],
    made: each((event) => (event.type === "ERROR" ? [] : [event])),
  },
  {
    does: "says 500 where history is gone",
    breaks: ["expired-watch"],
    made: each((event) => [
      event.type === "ERROR" ? { ...event, object: { ...event.object, code: 500, reason: "InternalError" } } : event,
    ]),
  },
  { does: "goes on from now where history is gone", breaks: ["expired-watch"], made: forgiving() },
  { does: "ends a watch from long ago without a word", breaks: ["watch-long-ago"], made: mute() },
  { does: "ends a watch on which nothing happens", breaks: ["watch-lasts"], made: impatient() },
  { does: "says an error where the time of a watch is over", breaks: ["watch-ends"], made: complaining() },
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
