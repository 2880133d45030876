import type { Target } from "./target.ts";
import { board } from "./targets/board.ts";
import { cases } from "./targets/cases.ts";
import { commands } from "./targets/commands.ts";
import { credentials } from "./targets/credentials.ts";
import { databases } from "./targets/databases.ts";
import { datagrams } from "./targets/datagrams.ts";
import { objects } from "./targets/objects.ts";
import { mqtt } from "./targets/packets.ts";
import { settings } from "./targets/settings.ts";
import { streams } from "./targets/streams.ts";
import { texts } from "./targets/texts.ts";

/** All readers of input from outside. */
export const targets: readonly Target[] = [
  ...objects,
  ...streams,
  ...texts,
  ...settings,
  ...credentials,
  ...commands,
  mqtt,
  ...datagrams,
  ...board,
  ...databases,
  ...cases,
];
