import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkAnswer, witnessLan, witnessSite } from "../../../../agent/doctor/checks/witness.ts";
import { BoardKey } from "../../../../agent/witness/board-key.ts";
import { decodeQuestion, encodeAnswer, signedBytes } from "../../../../agent/witness/datagrams.ts";
import { bareStatus } from "../../../support/bare-status.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { LanInMemory } from "../../witness/lan-in-memory.ts";
import { Folder, patient } from "../patient.ts";

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

const key = BoardKey.kept({ read: () => undefined, write: () => {} }, new RecordingLog());
const running = { status: { status: bareStatus, isFresh: true } } as const;
const statement = { boot: "boot-1", kubelet: { is: "ok" } } as const;

/** An agent on this machine that answers questions to this board. */
async function answering(lan: LanInMemory, board: string): Promise<void> {
  await lan.of("127.0.0.1").open(10270, (datagram, reply) => {
    const question = decodeQuestion(datagram);
    if (question?.board !== board) return;
    reply(encodeAnswer({ nonce: question.nonce, ...statement, signature: key.sign(signedBytes(question, statement)) }));
  });
}

describe("witness.site", () => {
  const leading = (lan: object | undefined) =>
    ({
      status: { status: { ...bareStatus, leader: { role: "leader", holder: "pi-3" }, lan }, isFresh: true },
    }) as never;
  const counts = (heard: number, unheard: readonly string[], mute: readonly string[]) => ({
    boards: heard + unheard.length + mute.length,
    heard,
    unheard: { count: unheard.length, some: unheard },
    mute: { count: mute.length, some: mute },
  });

  test.each([
    ["all boards answer", counts(2, [], []), "ok", "2 of 2 other boards answered within a day"],
    [
      "one does not",
      counts(1, ["pi-4"], []),
      "warn",
      "1 of 2 other boards answered within a day; no answer from pi-4; if such a board falls silent, its pods stay for judgement.unprovenHold",
    ],
    [
      "none does",
      counts(0, ["pi-4"], ["pi-5"]),
      "warn",
      "0 of 2 other boards answered within a day; no answer from pi-4; no address announced by pi-5; silence is judged without the LAN",
    ],
    [
      "one has no agent",
      counts(1, [], ["pi-5"]),
      "info",
      "1 of 2 other boards answered within a day; no address announced by pi-5",
    ],
    ["it has just begun", undefined, "skip", "this board has not judged its site yet"],
  ] as const)("on the leader, if %s", (_, lan, level, message) => {
    expect(witnessSite(patient(folder, leading(lan)))).toMatchObject({ level, message });
  });

  test("names the board on which to run it", () => {
    const status = { ...bareStatus, leader: { role: "follower", holder: "pi-9" } };
    expect(witnessSite(patient(folder, { status: { status, isFresh: true } } as never))).toMatchObject({
      level: "skip",
      message: "only the leader asks the boards: run this on pi-9",
    });
  });
});

describe("witness.lan", () => {
  test("asks the agent of this board, and leaves no port open", async () => {
    const lan = new LanInMemory();
    await answering(lan, "pi-3");
    expect(await witnessLan(patient(folder, running), lan.of("127.0.0.1"))).toMatchObject({ level: "ok" });
    expect(lan.open).toEqual(["127.0.0.1:10270"]);
  });

  test("waits four seconds for an answer", async () => {
    const lan = new LanInMemory();
    await answering(lan, "pi-4");
    expect(await witnessLan(patient(folder, running), lan.of("127.0.0.1"))).toMatchObject({
      level: "warn",
      message: "the agent does not answer on UDP port 10270",
    });
  });

  test("says why it cannot ask", async () => {
    const lan = new LanInMemory();
    lan.refusal = new Error("socket EPERM");
    expect(await witnessLan(patient(folder, running), lan.of("127.0.0.1"))).toMatchObject({
      level: "warn",
      message: "the agent cannot be asked: socket EPERM",
    });
  });

  test.each([
    ["the agent does not run", {}, {}],
    ["the policy is kubernetes", running, { SITEWARD_JUDGEMENT_POLICY: "kubernetes" }],
    ["it is turned off", running, { SITEWARD_JUDGEMENT_WITNESS: "off" }],
  ])("is skipped when %s", async (_, changes, settings) => {
    const lan = new LanInMemory();
    expect(await witnessLan(patient(folder, changes, settings), lan.of("127.0.0.1"))).toMatchObject({ level: "skip" });
    expect(lan.sent).toEqual([]);
  });

  test.each([
    [{ is: "ok" }, "ok"],
    [{ is: "unknown" }, "info"],
    [{ is: "down", forMs: 0 }, "fail"],
  ] as const)("with a kubelet that is %o reports %s", (kubelet, level) => {
    const answer = { nonce: Buffer.alloc(16), boot: "boot-1", kubelet, signature: Buffer.alloc(64) };
    expect(checkAnswer(answer, 10270).level).toBe(level);
  });
});
