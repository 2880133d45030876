import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: Options }>>["values"];

/** The options of a suite's command line. `--help` prints the help and exits with 0; wrong usage exits with 64. */
export const optionsOf = <const Options extends ParseArgsOptionsConfig>(
  help: string,
  options: Options,
  args?: string[],
): Values<Options> => commandLineOf(help, options, { args }).values;

/** The same, with the positional names: some of `names`, or none. */
export function commandLineOf<const Options extends ParseArgsOptionsConfig>(
  help: string,
  options: Options,
  {
    names = [],
    args = process.argv.slice(2),
  }: { readonly names?: readonly string[]; readonly args?: string[] | undefined },
): { readonly values: Values<Options>; readonly positionals: readonly string[] } {
  if (args.includes("--help")) {
    process.stdout.write(help);
    process.exit(0);
  }
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: names.length > 0 });
    const unknown = positionals.filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(", ")}; there are ${names.join(", ")}`);
    return { values: values as Values<Options>, positionals };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${help}`);
    process.exit(64);
  }
}
