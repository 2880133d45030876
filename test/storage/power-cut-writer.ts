/** A process that writes until it is killed: node power-cut-writer.ts FILE SEED */
import { openCache } from "../../storage/database/open.ts";
import { pragmas } from "./object-store.ts";
import { cacheOf, follow } from "./power-cut-model.ts";

const [, , file = "", seed = ""] = process.argv;
const { database } = openCache({ file, pragmas });
process.stdout.write("writing\n");
follow(cacheOf(database), Number(seed), Number.MAX_SAFE_INTEGER);
