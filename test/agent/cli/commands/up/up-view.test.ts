import { expect, test } from "vitest";
import { UpView } from "../../../../../agent/cli/commands/up/up-view.ts";
import { terminalOutput } from "../../../../../agent/cli/terminal-output.ts";
import type { SitePicture } from "../../../../../simulator/view/site-picture.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const site: SitePicture = {
  apiUp: true,
  leader: { board: "pi-1", term: 0 },
  zones: [],
  boards: [],
  pods: [],
  daemons: [],
  services: [],
};

function viewOn(terminal: { isTTY: boolean; columns: number; rows: number }, TERM = "xterm") {
  let written = "";
  const stdout = {
    ...terminal,
    write: (text: string) => {
      written += text;
    },
  };
  const env = { NO_COLOR: "1", TERM };
  const view = new UpView(
    { stdout: terminalOutput(stdout, env), env, clock: new FakeClock() },
    { title: "a site", plain: false },
  );
  const drawn = (): string => {
    const text = written;
    written = "";
    return text;
  };
  return { view, stdout, drawn };
}

test("after a resize the table and the introduction are drawn again", () => {
  const { view, stdout, drawn } = viewOn({ isTTY: true, columns: 100, rows: 30 });
  view.introduce("kubectl --kubeconfig /there get nodes\n");
  view.show(site);
  drawn();
  view.show(site);
  expect(drawn()).not.toContain("kubectl");
  stdout.columns = 40;
  view.show(site);
  const anew = drawn();
  expect(anew.startsWith("\u001b[H\u001b[2Jkubectl --kubeconfig /there get nodes\n\u001b[1G\u001b[2Ka site\n")).toBe(
    true,
  );
  view.show(site);
  expect(drawn()).not.toContain("kubectl");
});

test("without a terminal there is a line for each change, and nothing is drawn", () => {
  const { view, drawn } = viewOn({ isTTY: false, columns: 100, rows: 30 });
  view.introduce("above\n");
  view.show(site);
  view.show(site);
  view.close();
  expect(drawn()).toBe("above\nt=0.0s pi-1 leads, term 0\n");
});

test("a terminal of unknown size is treated as one of the usual size", () => {
  const { view, drawn } = viewOn({ isTTY: true, columns: 0, rows: 0 });
  view.show(site);
  expect(drawn()).toContain("\u001b[2Ka site\n");
});

test.each(["dumb", ""])("a terminal of the kind %j gets plain lines, and no cursor movement", (kind) => {
  const { view, drawn } = viewOn({ isTTY: true, columns: 80, rows: 24 }, kind);
  view.show(site);
  expect(drawn()).toBe("t=0.0s pi-1 leads, term 0\n");
});
