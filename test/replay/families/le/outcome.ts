const lease = {
  type: "object",
  description: "The Lease at that time; absent: it does not exist.",
  properties: {
    holder: { type: "string", description: '"": it was released.' },
    leaseDurationSeconds: { type: "integer" },
    leaseTransitions: { type: "integer" },
    acquiredMs: {
      type: "number",
      description: "acquireTime by the wall clock of whoever wrote it, as milliseconds of the case.",
    },
    renewedMs: { type: "number", description: "renewTime, likewise." },
    resourceVersion: { type: "string" },
  },
};
const leaders = {
  type: "array",
  items: { type: "string" },
  description: "The candidates that believe to lead, and may write. There should never be two.",
};

export const outcome = {
  type: "object",
  properties: {
    leaders,
    lease,
    leading: {
      type: "array",
      description: "Every term of a candidate, in the order in which they began.",
      items: {
        type: "object",
        properties: {
          candidate: { type: "string" },
          term: { type: "integer", description: "Its number: the leaseTransitions that were written." },
          fromMs: { type: "number", description: "When its work began." },
          toMs: {
            type: "number",
            description:
              "When its work was told to stop; not there: it still runs. A suspended process is told when it wakes up; " +
              "whether it still could have written is in steps.leaders.",
          },
          why: { type: "string", description: "Why it ended." },
        },
      },
    },
    requests: {
      type: "array",
      description: "As the API server saw them, in order.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          by: { type: "string", description: "The candidate." },
          verb: { enum: ["get", "create", "update"] },
          answer: { type: "string", description: "ok, lost (performed without an answer), silence, or the reason." },
          holder: { type: "string", description: "Of the Lease that was read or written; only where it was." },
          leaseDurationSeconds: { type: "integer" },
          leaseTransitions: { type: "integer" },
        },
      },
    },
    calls: {
      type: "object",
      description: "The verbs of the requests by candidate.",
      additionalProperties: { type: "array", items: { enum: ["get", "create", "update"] } },
    },
    events: {
      type: "array",
      description: "Events about the Lease, of type Normal and reason LeaderElection.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          by: { type: "string" },
          message: { type: "string", description: "baz became leader, baz stopped leading." },
        },
      },
    },
    seen: {
      type: "array",
      description: "Whenever a candidate saw another holder than before, itself too (upstream's OnNewLeader).",
      items: {
        type: "object",
        properties: { atMs: { type: "number" }, by: { type: "string" }, holder: { type: "string" } },
      },
    },
    candidates: {
      type: "object",
      description: "Each candidate that has started, at the end.",
      additionalProperties: {
        type: "object",
        properties: {
          state: { enum: ["running", "ended", "killed"] },
          valid: { type: "boolean", description: "Whether its timing and its identity are permitted." },
          problems: {
            type: "array",
            items: { type: "string" },
            description: "Their problems, or why it ended.",
          },
          role: { enum: ["leader", "follower"], description: "While it runs." },
          holder: { type: "string", description: "The holder of the Lease, as far as it knows." },
          transitions: { type: "integer", description: "leaseTransitions, as far as it knows." },
          missedRenewals: { type: "integer", description: "Attempts to renew that failed, in its last term." },
          notStanding: { type: "string", description: "Why it does not stand for election, while that is so." },
          lastError: { type: "string", description: "Why its last attempt failed, if it did." },
        },
      },
    },
    steps: {
      type: "array",
      description: "One entry for each step, with the state after it, at its instant.",
      items: {
        type: "object",
        properties: { atMs: { type: "number" }, do: { type: "string" }, leaders, lease },
      },
    },
  },
};
