import { announcementText, parseAnnouncement } from "../../../agent/witness/announcement.ts";
import {
  decodeAnswer,
  decodeQuestion,
  encodeAnswer,
  encodeQuestion,
  minQuestionLength,
} from "../../../agent/witness/datagrams.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { ensure, type Target } from "../target.ts";

const bytes = (random: SeededRandom, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random.integer(256)));
const boot = "6c1e6d2a-4f0e-4f5b-9a53-0a4c3c1c2d1e";
const states = [{ is: "ok" }, { is: "unknown" }, { is: "down", forMs: 90_000 }] as const;

/** Questions from any machine on the LAN. */
const question: Target = {
  name: "lan-question",
  form: "bytes",
  open: () => ({
    example: (random) => encodeQuestion({ nonce: bytes(random, 16), site: "plant7", board: "pi-3" }),
    run: (input) => {
      const found = decodeQuestion(input);
      if (found === undefined) return false;
      ensure(input.length >= minQuestionLength, "a question is as long as the longest answer");
      ensure(found.nonce.length === 16, "a nonce has its length");
      return true;
    },
  }),
};

/** Answers from any machine on the LAN. */
const answer: Target = {
  name: "lan-answer",
  form: "bytes",
  open: () => ({
    example: (random) =>
      encodeAnswer({
        nonce: bytes(random, 16),
        boot,
        kubelet: states[random.integer(states.length)] ?? { is: "ok" },
        signature: bytes(random, 64),
      }),
    run: (input) => {
      const found = decodeAnswer(input);
      if (found === undefined) return false;
      ensure(input.length <= minQuestionLength, "an answer is never longer than its question");
      ensure(found.signature.length === 64, "a signature has its length");
      return true;
    },
  }),
};

/** The annotation of a Node. */
const announcement: Target = {
  name: "lan-announcement",
  form: "json",
  open: () => ({
    example: (random) =>
      announcementText({
        key: bytes(random, 32).toString("base64url"),
        port: 10270,
        addresses: ["192.168.7.3", "fd00::3"],
      }),
    run: (input) => {
      const found = parseAnnouncement(input.toString());
      if (found === undefined) return false;
      ensure(found.port > 0 && found.port < 65_536, "a port is a port");
      ensure(found.addresses.length <= 8, "a board has few addresses");
      return true;
    },
  }),
};

export const datagrams: readonly Target[] = [question, answer, announcement];
