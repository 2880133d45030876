import { processIo } from "../../agent/cli/process-io.ts";
import { replayCases } from "./command.ts";

process.exitCode = await replayCases(processIo(import.meta.url), process.argv.slice(2));
