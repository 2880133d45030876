/** A process that holds a state file until it is killed: node lock-holder.ts FILE */
import { openState } from "../../storage/database/open.ts";
import { pragmas } from "./object-store.ts";

openState({ file: process.argv[2] ?? "", pragmas, stamp: "holder", exclusive: true });
process.stdout.write("locked\n");
setInterval(() => {}, 1000);
