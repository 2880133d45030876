import { parseEnvelope } from "../../../agent/commands/desk/envelope.ts";
import { reply } from "../../../agent/commands/operator-api/control-api.ts";
import { RequestReader } from "../../../agent/commands/operator-api/http-request.ts";
import { CommandLog } from "../../../storage/command-log.ts";
import { CommandBoard, lastOf, order } from "../../support/command-desk.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { ensure, type Session, type Target } from "../target.ts";

const orders: readonly (readonly [name: string, args: object])[] = [
  ["eviction.freeze", { scope: "zone", target: "a", ttl: 3600 }],
  ["eviction.thaw", {}],
  ["controllers.pause", { controller: "podGC", ttl: 60 }],
  ["log.level", { level: "debug", ttl: 60 }],
  ["board.cordon", {}],
  ["ping", {}],
  ["leader.step-down", { to: "pi-2" }],
  ["journal.compact", { vacuum: false }],
];

const isOfSite = (name: string): boolean => /^(eviction|controllers|leader)\./.test(name);
const nameIn = (text: string): string | undefined => /"name":"([a-z.-]+)"/.exec(text)?.[1];

function envelopeFor(random: SeededRandom): string {
  const [name, args] = orders[random.integer(orders.length)] ?? ["ping", {}];
  return JSON.stringify({ v: 1, id: "ID-1", name, args, by: "ops:alice", reason: "CHG-1", ctr: random.integer(99) });
}

const envelope: Target = {
  name: "envelope",
  form: "json",
  open: () => ({
    example: envelopeFor,
    run: (input) =>
      "envelope" in parseEnvelope(input, { id: "ID-1", name: nameIn(input.toString("latin1")) ?? "ping" }),
  }),
};

/** Commands for each board; a board's memory is bounded by its own rules, not by this. */
const mostCommands = 300;

/** A refused command has no effect, and no row in state.db. */
const desk: Target = {
  name: "command",
  form: "json",
  share: 20,
  open: (): Session => {
    let [board, count] = [new CommandBoard(), 0];
    let process = board.start();
    const isStored = (id: string): boolean => new CommandLog(board.database).find(id) !== undefined;
    return {
      example: envelopeFor,
      run: async (input, random) => {
        if (++count % mostCommands === 0) {
          await board.stop();
          board.database.close();
          board = new CommandBoard();
          process = board.start();
        }
        const text = input.toString("latin1").replace("ID-1", `ID-${count}`);
        const name = nameIn(text) ?? "ping";
        const before = board.effects.length;
        const payload = Buffer.from(text, "latin1");
        const answer = process.take(
          order(
            { id: `ID-${count}`, name },
            { payload, scope: isOfSite(name) === random.integer(20) > 0 ? "site" : "board" },
          ),
        );
        const last = lastOf(await answer);
        await board.clock.advance("1m");
        const state = (await last)?.state;
        if (state !== "rejected" && state !== undefined) return true;
        ensure(board.effects.length === before, "a refused command has no effect");
        ensure(!isStored(`ID-${count}`), "a refused command leaves no row");
        return false;
      },
      close: () => board.database.close(),
    };
  },
};

const control: Target = {
  name: "control-socket",
  form: "bytes",
  open: () => {
    const process = new CommandBoard().start();
    return {
      example: (random) => {
        const body = envelopeFor(random);
        return random.next() < 0.5
          ? `GET /status?x HTTP/1.1\r\nHost: localhost\r\nAccept:  */* \r\n\r\n`
          : `POST /v1/cmd HTTP/1.1\r\nHost: l\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      },
      run: async (input, random) => {
        const reader = new RequestReader();
        for (let at = 0; at < input.length; ) {
          const piece = input.subarray(at, at + 1 + random.integer(200));
          at += piece.length;
          const found = reader.push(piece);
          if (found === undefined) continue;
          if ("message" in found) {
            ensure(found.status >= 400, "a fault has a status");
            return false;
          }
          const answer = await reply(found, {
            desk: process,
            stuck: () => [],
            missing: () => [],
            status: () => ({}),
            metrics: () => "",
          });
          return answer.status < 300;
        }
        return false;
      },
    };
  },
};

export const commands: readonly Target[] = [envelope, desk, control];
