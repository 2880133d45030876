import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: Options }>>["values"];

/** The options of a suite's command line. `--help` prints the help and ends with 0, wrong use ends with 64. */
export function optionsOf<const Options extends ParseArgsOptionsConfig>(
  help: string,
  options: Options,
  args: string[] = process.argv.slice(2),
): Values<Options> {
  if (args.includes("--help")) {
    process.stdout.write(help);
    process.exit(0);
  }
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${help}`);
    process.exit(64);
  }
}
