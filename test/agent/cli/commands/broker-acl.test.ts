import { expect, test } from "vitest";
import { dispatch } from "../../../../agent/cli/dispatch.ts";
import { recordingIo } from "../../../support/recording-io.ts";

async function siteward(...argv: readonly string[]) {
  const io = recordingIo();
  const code = await dispatch(io, ["broker-acl", ...argv]);
  return { code, out: io.out(), err: io.err() };
}

test("each board gets the lines of its own site, and operators those of the whole fleet", async () => {
  const { code, out } = await siteward(
    "--fleet",
    "acme",
    "--operators",
    "ops,night-shift",
    "plant7/pi-1,pi-2",
    "plant8/pi-1",
  );
  expect(code).toBe(0);
  const users = out.split("\n\n").slice(1);
  expect(users.map((lines) => lines.split("\n")[0])).toEqual([
    "user acme/plant7/pi-1",
    "user acme/plant7/pi-2",
    "user acme/plant8/pi-1",
    "user ops",
    "user night-shift",
  ]);
  expect(users[0]).toContain("topic write sw1/acme/plant7/_site/status");
  expect(users[0]).not.toContain("plant8");
  expect(out).toContain("pattern write sw1/%u/up\n");
  expect(users[3]?.trimEnd()).toBe("user ops\ntopic readwrite sw1/acme/#");
});

test("the rules for EMQX are the same, and end with a refusal of everything else", async () => {
  const { code, out } = await siteward("--fleet", "acme", "--format", "emqx", "plant7/pi-1");
  expect(code).toBe(0);
  expect(out).toContain(`{allow, all, subscribe, ["sw1/\${username}/cmd/#", "sw1/\${username}/config/desired"`);
  expect(out).toContain('{allow, {user, "acme/plant7/pi-1"}, subscribe, ["sw1/acme/plant7/_site/cmd/#"');
  expect(out.trimEnd().split("\n").at(-1)).toBe("{deny, all}.");
});

test.each([
  [["plant7/pi-1"], "--fleet is required"],
  [["--fleet", "Acme", "plant7/pi-1"], "--fleet is required"],
  [["--fleet", "acme", "--format", "hivemq", "plant7/pi-1"], "--format must be mosquitto or emqx"],
  [["--fleet", "acme", "plant7"], '"plant7" is not site/board'],
  [["--fleet", "acme", "plant7/pi-1/pi-2"], "is not site/board"],
  [["--fleet", "acme", "plant7/pi-1,"], "is not site/board"],
  [["--fleet", "acme", "plant7/_site"], "is not site/board"],
  [["--fleet", "acme", "--operators", "a b", "plant7/pi-1"], "cannot be the name of an operator"],
])("%j is refused: %s", async (argv, expected) => {
  const { code, out, err } = await siteward(...argv);
  expect([code, out]).toEqual([64, ""]);
  expect(err).toContain(expected);
});
