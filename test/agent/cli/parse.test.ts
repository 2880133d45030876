import { expect, test } from "vitest";
import { commands } from "../../../agent/cli/commands.ts";
import { parse } from "../../../agent/cli/parse.ts";

function parsed(line: string): unknown {
  const request = parse(line.split(" ").filter(Boolean));
  if (request.do !== "run") return request;
  const { flags, values, words } = request.args;
  return [request.command.name, [...flags], Object.fromEntries(values), words];
}

test.each([
  ["status", ["status", [], {}, []]],
  ["status --json --file /x", ["status", ["json"], { file: "/x" }, []]],
  ["status --file=/x=y", ["status", [], { file: "/x=y" }, []]],
  ["status --watch", ["status", [], { watch: "2" }, []]],
  ["status --watch 5 --short", ["status", ["short"], { watch: "5" }, []]],
  ["status --watch --short", ["status", ["short"], { watch: "2" }, []]],
  ["status --watch=1s", ["status", [], { watch: "1s" }, []]],
  ["run -c /etc/x.yaml", ["run", [], { config: "/etc/x.yaml" }, []]],
  ["config show --origin", ["config show", ["origin"], {}, []]],
  ["config explain log.level --config x", ["config explain", [], { config: "x" }, ["log.level"]]],
  ["config check -- --odd-name.yaml", ["config check", [], {}, ["--odd-name.yaml"]]],
  ["up --boards 5 --for 5m --keep", ["up", ["keep"], { boards: "5", for: "5m" }, []]],
  ["--version", ["version", [], {}, []]],
])("%s", (line, expected) => {
  expect(parsed(line)).toEqual(expected);
});

test.each([
  ["staus", '"staus" is not a command; did you mean status?'],
  ["frobnicate", '"frobnicate" is not a command'],
  ["--json", "unknown option --json; options come after the command"],
  ["status --jsn", "status: --jsn is not an option; did you mean --json?"],
  ["status -z", "status: -z is not an option"],
  ["status --json=yes", "status: --json takes no value"],
  ["status --file", "status: --file needs a value: --file FILE"],
  ["status --file --json", "status: --file needs a value: --file FILE"],
  ["status --wait dinner", "status: --wait takes ready"],
  ["status now", 'status: "now" is one word too many'],
  ["config", "config needs one of show, check, rollback, explain, reference, schema, example"],
  ["config shwo", '"config shwo" is not a command; did you mean config show?'],
  ["config check", "config check needs FILE"],
  ["config check a b", 'config check: "b" is one word too many'],
])("%s is refused in one line", (line, problem) => {
  expect(parsed(line)).toMatchObject({ do: "refuse", problem });
});

test.each([
  ["staus", "siteward help"],
  ["status --jsn", "siteward status --help"],
  ["config show --orign", "siteward config show --help"],
  ["config", "siteward config --help"],
])("the refusal of %s names the help about it: %s", (line, see) => {
  expect(parsed(line)).toMatchObject({ do: "refuse", see });
});

test("--help works everywhere, even next to other mistakes", () => {
  const status = commands.find(({ name }) => name === "status");
  expect(parsed("")).toEqual({ do: "help", of: undefined });
  expect(parsed("--help")).toEqual({ do: "help", of: undefined });
  expect(parsed("config --help")).toEqual({ do: "help", of: "config" });
  expect(parsed("status -h")).toEqual({ do: "help", of: status });
  expect(parsed("status --help --nonsense")).toEqual({ do: "help", of: status });
});

test("names of JavaScript's built-in members are not commands", () => {
  for (const word of ["__proto__", "constructor", "toString"])
    expect(parse([word])).toMatchObject({ do: "refuse", problem: `"${word}" is not a command` });
});

test("no command has two options with the same name or letter, and every name is unique", () => {
  expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length);
  for (const { name, options } of commands) {
    const names = [...options.flatMap((option) => [option.name, option.short ?? []].flat()), "help", "h"];
    expect(new Set(names).size, name).toBe(names.length);
  }
});
