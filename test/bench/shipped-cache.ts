import { settings } from "../../agent/config/settings.ts";
import { defaultsOf, treeOf } from "../../agent/config/values.ts";
import type { Pragmas } from "../../storage/database/database.ts";

const { decodedBytes, sqlite } = treeOf(settings, defaultsOf(settings)).cache;

/** The cache of an agent without any configuration. */
export const shippedPragmas: Pragmas = { synchronous: "NORMAL", ...sqlite };

/** What of it pods have, and each other resource: see the InformerSet. */
export const [decodedPods, decodedOthers] = [decodedBytes / 2, decodedBytes / 8];
