import { describe, expect, test } from "vitest";
import { Calibration } from "../../../agent/witness/calibration.ts";

const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });
const day = 24 * 3600;

describe("a board that answered", () => {
  const calibration = new Calibration();
  calibration.heard("pi-3", { key: "key", path: "eth0", at: at(0), networks: [] });

  test.each([
    ["at once", "pi-3", "key", 0, true],
    ["for a day", "pi-3", "key", day - 1, true],
    ["not after a day", "pi-3", "key", day, false],
    ["not once its Node has another key", "pi-3", "other", 1, false],
    ["not for another board", "pi-4", "key", 1, false],
  ] as const)("can be heard, %s", (_when, board, key, seconds, can) => {
    expect(calibration.covers(board, key, at(seconds))).toBe(can);
  });

  test("makes the LAN a witness for a day", () => {
    expect([calibration.hasAny(at(day - 1)), calibration.hasAny(at(day))]).toEqual([true, false]);
    expect(new Calibration().hasAny(at(0))).toBe(false);
    expect([calibration.heardBefore(at(day - 1)), calibration.heardBefore(at(day))]).toEqual([["pi-3"], []]);
  });

  test("is asked again after an hour", () => {
    expect([calibration.isDue("pi-3", at(3599)), calibration.isDue("pi-3", at(3600))]).toEqual([false, true]);
  });

  test("is asked again as soon as a term begins, and is not forgotten by that", () => {
    calibration.askAgain();
    expect(calibration.isDue("pi-3", at(1))).toBe(true);
    expect(calibration.covers("pi-3", "key", at(1))).toBe(true);
  });
});

test("a board that does not answer is asked less and less often, and at last once an hour", () => {
  const calibration = new Calibration();
  const times: number[] = [];
  for (let time = 0; time < 5 * 3600; time += 5) {
    if (!calibration.isDue("pi-3", at(time))) continue;
    calibration.tried("pi-3", at(time));
    times.push(time);
  }
  expect(times.slice(0, 5)).toEqual([0, 5, 15, 35, 75]);
  expect(times.filter((time) => time >= 3 * 3600)).toHaveLength(2);
});

test("boards are forgotten beyond the size of the largest site, the one asked longest ago first", () => {
  const calibration = new Calibration();
  for (let index = 0; index <= 5000; index++)
    calibration.heard(`pi-${index}`, { key: "key", path: "eth0", at: at(0), networks: [] });
  expect(calibration.covers("pi-0", "key", at(1))).toBe(false);
  expect(calibration.covers("pi-5000", "key", at(1))).toBe(true);
  expect(calibration.heardBefore(at(1))).toHaveLength(5000);
});

test("the census names the boards that were asked in vain, and those that announce no address", () => {
  const calibration = new Calibration();
  calibration.heard("pi-2", { key: "key", path: "eth0", at: at(0), networks: [] });
  calibration.heard("pi-3", { key: "key", path: "eth0", at: at(0), networks: [] });
  for (const board of ["pi-3", "pi-4"]) calibration.tried(board, at(60));
  calibration.tried("pi-5", at(60), { isMute: true });
  const boards = ["pi-2", "pi-3", "pi-4", "pi-5", "not-asked-yet"];
  expect(calibration.census(boards, at(61))).toEqual({ heard: 2, unheard: ["pi-4"], mute: ["pi-5"] });
  expect(calibration.census(boards, at(day))).toEqual({ heard: 0, unheard: ["pi-2", "pi-3", "pi-4"], mute: ["pi-5"] });
  calibration.heard("pi-5", { key: "key", path: "eth0", at: at(day), networks: [] });
  expect(calibration.census(boards, at(day)).mute).toEqual([]);
});

describe("a leader whose LAN port fails in calm", () => {
  const hour = 3600;
  const heardBy = (...paths: readonly string[]): Calibration => {
    const calibration = new Calibration();
    for (const board of ["pi-2", "pi-3"])
      for (const path of paths) calibration.heard(board, { key: board, path, at: at(0), networks: [] });
    return calibration;
  };
  const askInVain = (calibration: Calibration, boards: readonly string[]): void => {
    for (const seconds of [0, 5, 15, 35]) for (const board of boards) calibration.tried(board, at(hour + seconds));
  };

  test("knows it half a minute after the next hourly question", () => {
    const calibration = heardBy("eth0");
    expect(calibration.quietPath(at(hour))).toBeUndefined();
    askInVain(calibration, ["pi-2", "pi-3"]);
    expect(calibration.quietPath(at(hour + 36))).toEqual({ path: "eth0", since: at(hour) });
  });

  test("hears one board again, so the fault is not its own", () => {
    const calibration = heardBy("eth0");
    askInVain(calibration, ["pi-2", "pi-3"]);
    calibration.heard("pi-3", { key: "pi-3", path: "eth0", at: at(hour + 75), networks: [] });
    expect(calibration.quietPath(at(hour + 76))).toBeUndefined();
  });

  test("does not blame its port because of one quiet board", () => {
    const calibration = heardBy("eth0");
    askInVain(calibration, ["pi-2"]);
    expect(calibration.quietPath(at(hour + 36))).toBeUndefined();
  });

  test("knows it although the boards still answer by another path", () => {
    const calibration = heardBy("eth0", "wlan0");
    for (const hours of [1, 2])
      for (const board of ["pi-2", "pi-3"])
        calibration.heard(board, { key: board, path: "wlan0", at: at(hours * hour), networks: [] });
    expect(calibration.quietPath(at(2 * hour))).toMatchObject({ path: "eth0", since: { mono: at(hour).mono } });
  });
});

describe("a board that answers by two paths", () => {
  const heard = (...answers: readonly (readonly [path: string, hours: number, key?: string])[]): Calibration => {
    const calibration = new Calibration();
    for (const [path, hours, key = "key"] of answers)
      calibration.heard("pi-3", { key, path, at: at(hours * 3600), networks: [] });
    return calibration;
  };
  const paths = (calibration: Calibration, hours: number) => calibration.pathsOf("pi-3", at(hours * 3600));

  test("is heard by both, until the last answer is a day old", () => {
    const calibration = heard(["eth0", 0], ["wlan0", 0], ["eth0", 1]);
    expect(paths(calibration, 20)).toEqual(["wlan0", "eth0"]);
    expect(paths(calibration, 25)).toEqual([]);
  });

  test("is no longer heard by the one on which it left the questions of three hours unanswered", () => {
    expect(paths(heard(["eth0", 0], ["wlan0", 0], ["wlan0", 3]), 4)).toEqual(["eth0", "wlan0"]);
    expect(paths(heard(["eth0", 0], ["wlan0", 0], ["wlan0", 3.1]), 4)).toEqual(["wlan0"]);
  });

  test("has only the paths of its new key once it has one", () => {
    expect(paths(heard(["eth0", 0], ["wlan0", 0], ["wlan0", 1, "new"]), 2)).toEqual(["wlan0"]);
  });

  test("is remembered with eight paths at most", () => {
    const many = Array.from({ length: 20 }, (_, index) => [`wg${index}`, 0] as const);
    expect(paths(heard(...many), 1)).toEqual(many.slice(-8).map(([path]) => path));
  });
});
