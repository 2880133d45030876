import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkAnswer, witnessLan } from "../../../../agent/doctor/checks/witness.ts";
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
