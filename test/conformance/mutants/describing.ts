import { itemsAt, type JsonObject, numberAt, textAt } from "../../../agent/api/json.ts";
import { type Mutant, says } from "./mutant.ts";

/** Servers that describe themselves or their objects wrongly. */
export const describingMutants: readonly Mutant[] = [
  {
    does: "is never ready",
    breaks: ["health"],
    made: (handle) => async (request) => {
      const response = await handle(request);
      return request.path === "/readyz" ? { ...response, status: 500 } : response;
    },
  },
  {
    does: "returns a table with a missing cell",
    breaks: ["table"],
    made: says((body) =>
      body.kind === "Table"
        ? {
            body: {
              ...body,
              rows: itemsAt(body, "rows").map((row) => ({ ...Object(row), cells: itemsAt(row, "cells").slice(0, -1) })),
            },
          }
        : undefined,
    ),
  },
  {
    does: "returns a table without the objects of its rows",
    breaks: ["table-objects"],
    made: says((body) =>
      body.kind === "Table"
        ? { body: { ...body, rows: itemsAt(body, "rows").map((row) => ({ ...Object(row), object: null })) } }
        : undefined,
    ),
  },
  {
    does: "offers no watching",
    breaks: ["discovery-resources", "discovery-aggregated"],
    made: says((body) =>
      /Resource|Discovery/.test(textAt(body, "kind"))
        ? { body: JSON.parse(JSON.stringify(body).replaceAll('"watch"', '"look"')) as JsonObject }
        : undefined,
    ),
  },
  {
    does: "hides a group",
    breaks: ["discovery-groups"],
    made: says((body) =>
      body.kind === "APIGroupList" ? { body: { ...body, groups: itemsAt(body, "groups").slice(1) } } : undefined,
    ),
  },
  {
    does: "documents nothing",
    breaks: ["openapi-3", "openapi-2"],
    made: says((body) => (body.openapi !== undefined || body.swagger !== undefined ? { body: {} } : undefined)),
  },
  {
    does: "reports no version",
    breaks: ["version"],
    made: says((_, { path }) => (path === "/version" ? { body: {} } : undefined)),
  },
  {
    does: "denies what every user may do",
    breaks: ["access-review"],
    made: says((body) =>
      numberAt(body, "code") === undefined && body.kind === "SelfSubjectAccessReview"
        ? { body: { ...body, status: { allowed: false } } }
        : undefined,
    ),
  },
];
