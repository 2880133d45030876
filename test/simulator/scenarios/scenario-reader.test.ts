import { expect, test } from "vitest";
import { ConfigError } from "../../../agent/base/errors.ts";
import { parseYaml } from "../../../agent/config/yaml.ts";
import { readScenario } from "../../../simulator/scenarios/scenario-reader.ts";
import { shippedScenarios } from "../../../simulator/scenarios/shipped.ts";

const read = (text: string, given = {}) => readScenario("story.yaml", parseYaml(text), given);

function problemsOf(text: string, given = {}): readonly string[] {
  try {
    read(text, given);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test("the smallest scenario is a site of three boards in two zones without any steps", () => {
  expect(read("name: quiet")).toMatchObject({ name: "quiet", boards: 3, zones: 2, workloads: [], steps: [] });
});

test("steps are returned in the order of their times, and each claim is a separate expectation", () => {
  const { steps } = read(`
steps:
  - at: 20s
    do: { slow: [pi-1, zone-b], delay: 2s }
  - at: 5s
    expect: { ready: all, leader: any, term: 0, within: 10s }
`);
  expect(steps).toMatchObject([
    { at: 5000, expected: { claim: "leader", of: ["any"], within: 10_000, for: 0 } },
    { at: 5000, expected: { claim: "term", of: ["0"] } },
    { at: 5000, expected: { claim: "ready", of: ["all"] } },
    { at: 20_000, deed: { verb: "slow", targets: ["pi-1", "zone-b"], delay: 2000 } },
  ]);
});

test("all problems are reported together, each with its line", () => {
  const text = `\
boards: 3
zones: 4
workload: []
workloads:
  - { name: Web, replicas: many }
kubelet: { renew: 10 }
steps:
  - at: soon
    do: { power-off: pi-9 }
  - do: { cut: pi-1, restore: pi-1 }
  - at: 1s
    do: { power-of: pi-1 }
  - at: 2s
    expect: { kept: web2, within: 1s, for: 1s }
  - at: 3s
    expect: { leader: [pi-1, pi-2] }
  - at: 4s
    do: { cut: api }
  - at: 5s
    do: { cut: pi-1, delay: 1s }
  - at: 6s
`;
  const problems = problemsOf(text);
  const about = (line: number, words: RegExp): void => {
    expect(problems).toContainEqual(expect.stringMatching(new RegExp(`^story.yaml:${line}: .*${words.source}`)));
  };
  about(2, /zones: 4 zones need at least as many boards, not 3/);
  about(3, /workload: is unknown; did you mean workloads\?/);
  about(5, /workloads\.0\.name: must be a name of lowercase letters, digits and dashes, not "Web"/);
  about(5, /workloads\.0\.replicas: must be a whole number from 0 to 1000, not "many"/);
  about(6, /kubelet\.renew: must be a time such as 40s/);
  about(8, /steps\.0\.at: must be a time such as 40s or 1m30s, not "soon"/);
  about(9, /steps\.0\.do\.power-off: names the unknown "pi-9"; there are pi-1, pi-2, pi-3/);
  about(10, /steps\.1\.at: is missing; it must be a time such as 40s/);
  about(10, /steps\.1\.do: must be one of power-off/);
  about(12, /steps\.2\.do\.power-of: is unknown; did you mean power-off\?/);
  about(14, /steps\.3\.expect\.for: cannot be combined with within/);
  about(14, /steps\.3\.expect\.kept: names the unknown "web2"/);
  about(16, /steps\.4\.expect\.leader: must be one name/);
  about(18, /steps\.5\.do\.cut: names the unknown "api"/);
  about(20, /steps\.6\.do\.delay: is not for cut/);
  about(21, /steps\.7: must have either do: or expect:/);
});

test("the command line overrides the file, and names are checked against the site", () => {
  const text = `boards: 3\nsteps: [{ at: 1s, do: { power-off: pi-5 } }]`;
  expect(problemsOf(text)).toHaveLength(1);
  expect(read(text, { boards: 5, zones: 5 })).toMatchObject({ boards: 5, zones: 5 });
});

test.each(["", "- 1", "just words", "a: [", "steps: 5", "boards: {}"])("%j is refused in words", (text) => {
  expect(problemsOf(text).length).toBeGreaterThan(0);
});

test.each([...shippedScenarios])("%s ships without a mistake", (name, text) => {
  expect(read(text).name).toBe(name);
});
