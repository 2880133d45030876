import type { Instant, Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { SiteControls } from "./controls.ts";
import type { Definition } from "./definition.ts";
import type { Envelope } from "./envelope.ts";
import { isDisabled, type Policy } from "./policy.ts";
import { type Refusal, rejected } from "./refusal.ts";
import { commands as allCommands, find, namesIn } from "./registry.ts";
import type { Request } from "./request.ts";
import { fingerprintOf, isSignatureOf } from "./signature.ts";
import { forbids, type Trust, type TrustedKey } from "./trust.ts";

/** The state of this instant that a command is checked against. */
export interface DeskState {
  readonly now: Instant;
  readonly isSynced: boolean;
  readonly board: string;
  readonly bootId: string;
  readonly configVersion: number | undefined;
  readonly standing: ReturnType<SiteControls["standing"]>;
  readonly trust: Trust;
  readonly policy: Policy;
  readonly running: readonly { readonly id: string; readonly group: string | undefined }[];
  readonly isStopping: boolean;
  /** The highest counter accepted from the key with this fingerprint: on this board, or on the site by any leader. */
  counter(key: string, scope: Request["scope"]): number | undefined;
  /** Why nothing can be persisted at present; undefined: it can. */
  obstacle(): string | undefined;
}

/** A parsed command with its definition and the result of the signature check. */
export interface Read {
  readonly request: Pick<Request, "origin" | "scope" | "isLate">;
  readonly envelope: Envelope;
  readonly definition: Definition;
  readonly args: JsonRecord;
  readonly signature: Verified;
  /** Remaining message expiry. */
  readonly timeLeft: Millis | undefined;
}

export type Verified =
  | { readonly is: "missing" | "unknown-key" | "invalid" }
  | { readonly is: "valid"; readonly key: TrustedKey };

type Check = (command: Read, state: DeskState) => Refusal | undefined;

/** Applies rows 13 to 24 of docs/interfaces.md#order-of-checks in order; the first check that fails answers. */
export function judge(request: Request, envelope: Envelope, state: DeskState): Read | Refusal {
  const { scope, expirySeconds } = request;
  const definition = find(envelope.name, scope);
  if (!definition) {
    const known = namesIn(scope).filter((name) => !isDisabled(state.policy, name));
    return { ...rejected(404, "unknown-command", `there is no such command for a ${scope}`), result: { known } };
  }
  const command: Read = {
    request,
    envelope,
    definition,
    args: envelope.args ?? {},
    signature: verified(request, state.trust),
    timeLeft: expirySeconds === undefined ? undefined : expirySeconds * 1000,
  };
  return first(checks, command, state) ?? command;
}

/** Repeats the checks whose result may have changed between the acceptance of a command and its resumption. */
export const judgeAgain = (command: Read, state: DeskState): Refusal | undefined =>
  first([expired, notLeader, preconditions], command, state);

/** Repeats the checks whose result may have changed while the counter was written to the site's Lease. */
export const judgeCounted = (command: Read, state: DeskState): Refusal | undefined =>
  first([expired, notLeader, preconditions, busy, unwritable, stopping], command, state);

export interface SiteNumber {
  /** Fingerprint of the signing key. */
  readonly key: string;
  readonly counter: number;
}

/**
 * The counter that a site command must use up on the site's Lease before it is accepted; without it the next leader
 * would accept the command again. undefined for unsigned commands and those of a single board.
 */
export function siteNumber({ request, signature, envelope }: Read): SiteNumber | undefined {
  if (request.scope !== "site" || signature.is !== "valid" || envelope.ctr === undefined) return undefined;
  return { key: fingerprintOf(signature.key.key), counter: envelope.ctr };
}

function first(all: readonly Check[], command: Read, state: DeskState): Refusal | undefined {
  for (const check of all) {
    const refusal = check(command, state);
    if (refusal) return refusal;
  }
  return undefined;
}

export const isMutating = ({ class: kind }: Definition): boolean => kind !== "read";

/**
 * Only fleet commands need signatures: a broker can impersonate the fleet, while a local caller could stop the agent
 * anyway.
 */
const isOfFleet = ({ request }: Read): boolean => request.origin === "mqtt";

function verified({ topic, payload, signature }: Request, trust: Trust): Verified {
  if (!signature) return { is: "missing" };
  const key = trust.keys.get(signature.kid);
  if (!key) return { is: "unknown-key" };
  return isSignatureOf(signature.sig, topic, payload, key.key) ? { is: "valid", key } : { is: "invalid" };
}

const badArgs: Check = ({ definition, args, request }) => {
  const found = definition.args.problem(args, "/args") ?? definition.problem(args, request.scope);
  return found && { ...rejected(422, "bad-args", found.message), field: found.field };
};

const needsSignature = (command: Read, { trust }: DeskState): boolean =>
  command.definition.isSigned && trust.isInstalled && isOfFleet(command);

const unsigned: Check = (command, state) => {
  const { is } = command.signature;
  if (is === "valid" || !needsSignature(command, state)) return undefined;
  return rejected(401, `signature-${is}`, signatureSentences[is]);
};

const signatureSentences = {
  missing: "this command must be signed",
  "unknown-key": "the key is not installed on this board",
  invalid: "the signature is not one of this command on this topic",
} as const;

const forbidden: Check = (command, state) => {
  const { definition, signature, request } = command;
  const { policy, now } = state;
  const why = (): string | undefined => {
    if (isDisabled(policy, definition.name)) return "this board's policy does not allow it";
    if (policy.problem !== undefined && isMutating(definition) && isOfFleet(command))
      return `this board's policy cannot be read: ${policy.problem}`;
    if (!needsSignature(command, state) || signature.is !== "valid") return undefined;
    return forbids(signature.key, definition.name, request.scope, now.wall);
  };
  const found = why();
  return found === undefined ? undefined : rejected(403, "forbidden", found);
};

const staleCounter: Check = ({ signature, envelope, request }, { counter }) => {
  if (signature.is !== "valid" || envelope.ctr === undefined) return undefined;
  const seen = counter(fingerprintOf(signature.key.key), request.scope);
  return seen === undefined || envelope.ctr > seen
    ? undefined
    : rejected(409, "stale-counter", `the counter of key ${signature.key.kid} has come to ${seen} already`);
};

/** Accepted difference between the clocks of sender and board. */
export const skewAllowance: Millis = 60_000;

/** Maximum lifetime of a command. */
export const longestLife: Millis = 86_400_000;

const expired: Check = ({ envelope, timeLeft }, { now, isSynced }) => {
  const ends = envelope.exp === undefined ? undefined : Date.parse(envelope.exp);
  const isOver = timeLeft !== undefined && timeLeft <= 0;
  if (isOver || (isSynced && ends !== undefined && now.wall > ends + skewAllowance)) {
    return { state: "expired", code: 408, error: "expired", message: "its time was over before it could begin" };
  }
  // The id must be remembered until `exp`, or the command could be replayed.
  return isSynced && ends !== undefined && ends > now.wall + longestLife + skewAllowance
    ? { ...rejected(400, "schema", "lies more than a day ahead"), field: "/exp" }
    : undefined;
};

const clockUnknown: Check = (command, { isSynced, now }) => {
  const { definition, envelope, signature, request } = command;
  if (isSynced || !isMutating(definition) || !isOfFleet(command)) return undefined;
  const isFresh =
    signature.is === "valid" &&
    envelope.ctr !== undefined &&
    forbids(signature.key, definition.name, request.scope, now.wall) === undefined;
  return isFresh
    ? undefined
    : rejected(412, "clock-unsynced", "the board does not know the time: sign the command and count it (ctr)");
};

const notLeader: Check = ({ request }, { standing, board }) => {
  const { isLeader, leader, term } = standing;
  if (request.scope !== "site" || (isLeader && request.isLate !== true)) return undefined;
  if (isLeader) {
    const why = "it waited at the broker from before this board's term: what came of it then is not known here";
    return { ...rejected(421, "not-leader", why), result: { leader, term } };
  }
  // After this board's term the Lease names it until another board acquires it.
  const known = leader === board ? undefined : leader;
  return { ...rejected(421, "not-leader", "another board leads the site, or none"), result: { leader: known, term } };
};

const preconditions: Check = ({ envelope }, { standing, configVersion, bootId }) => {
  const current: Readonly<Record<string, unknown>> = { term: standing.term, configVersion, bootId };
  const wrong = Object.entries(envelope.if ?? {}).find(([name, wanted]) => current[name] !== wanted);
  return (
    wrong && {
      ...rejected(409, "precondition-failed", `${wrong[0]} is not what the command expects`),
      field: `/if/${wrong[0]}`,
      result: current,
    }
  );
};

const mostRunning = 32;

const busy: Check = ({ definition, envelope }, { running }) => {
  if (!isMutating(definition)) return undefined;
  const other = running.find(({ group }) => group !== undefined && group === definition.group);
  if (other && envelope.dryRun !== true) {
    return { ...rejected(409, "busy", `${other.id} is still running`), result: { runningId: other.id } };
  }
  return running.length >= mostRunning ? rejected(409, "busy", "too many commands are running") : undefined;
};

const unwritable: Check = ({ definition, envelope }, { obstacle }) => {
  if (!isMutating(definition) || envelope.dryRun === true) return undefined;
  const why = obstacle();
  return why === undefined ? undefined : rejected(507, "journal-unavailable", why);
};

const stopping: Check = (_, { isStopping }) =>
  isStopping ? rejected(503, "stopping", "the agent is about to end") : undefined;

const checks: readonly Check[] = [
  badArgs,
  unsigned,
  forbidden,
  staleCounter,
  expired,
  clockUnknown,
  notLeader,
  preconditions,
  busy,
  unwritable,
  stopping,
];

/** Checks the members that only some commands need: the rest of row 7, and row 9. */
export function incomplete(
  { origin, scope, expirySeconds, signature }: Pick<Request, "origin" | "scope" | "expirySeconds" | "signature">,
  envelope: Envelope,
): Refusal | undefined {
  const definition = allCommands.get(envelope.name);
  const isChange = definition !== undefined && isMutating(definition);
  if (isChange && envelope.reason === undefined) return missing("reason", "this command changes something");
  if (origin === "local") return undefined;
  // Otherwise a recorded command could be replayed at any time.
  if (isChange && signature && envelope.exp === undefined && envelope.ctr === undefined)
    return missing("exp", "what is signed needs an end (exp) or a number (ctr)");
  // Only the accepting board knows the id; the counter is known to every leader.
  if (isChange && signature && scope === "site" && envelope.ctr === undefined)
    return missing(
      "ctr",
      "what is signed for a site needs a number, by which the next leader knows that it was accepted",
    );
  return expirySeconds === undefined || expirySeconds * 1000 > longestLife
    ? rejected(428, "expiry-required", "a message expiry of at most a day is needed")
    : undefined;
}

const missing = (field: string, why: string): Refusal => ({
  ...rejected(400, "schema", `is missing: ${why}`),
  field: `/${field}`,
});
