import { expect, test } from "vitest";
import { checkSystemUuid } from "../../../../agent/doctor/checks/identity.ts";

const boot = "11111111-2222-4333-8444-555555555555";
const thisBoard = (file: string): string | undefined =>
  file === "/proc/sys/kernel/random/boot_id" ? `${boot}\n` : undefined;

test("a Node of this boot is the board's own", () => {
  expect(checkSystemUuid("pi-1", boot, thisBoard).level).toBe("ok");
});

test("a Node of another boot is a warning with both explanations and the way to the right name", () => {
  expect(checkSystemUuid("pi-2", "99999999-2222-4333-8444-555555555555", thisBoard)).toMatchObject({
    level: "warn",
    message: expect.stringMatching(/kubelet has not started .* or pi-2 is another board/),
    hint: expect.stringContaining(boot),
  });
});

test.each([
  ["a Node whose kubelet never reported", undefined, thisBoard],
  ["a Node with an empty boot", "", thisBoard],
  ["a Node whose boot is not a string", { a: 1 }, thisBoard],
  ["a board without /proc", boot, () => undefined],
])("%s is not checked", (_, reported, read) => {
  expect(checkSystemUuid("pi-1", reported, read).level).toBe("skip");
});
