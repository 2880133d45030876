import { exit } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import { noopLogger } from "../../base/logger.ts";
import { identityOf } from "../../board/identity.ts";
import { KubeClient } from "../../client/kube-client.ts";
import { RequestLimiter } from "../../client/request-limiter.ts";
import { Traffic } from "../../client/traffic.ts";
import { leaseNamespaces } from "../../config/claim-settings.ts";
import { isShadowed } from "../../config/shadow-mode.ts";
import { askedCredentials, transportOf } from "../../process/api-access.ts";
import { configOf } from "../../process/load-config.ts";
import { version } from "../../process/version.ts";
import { SiteRelease } from "../../release/site-release.ts";
import { canPrompt, promptOf } from "./prompt.ts";

/**
 * `siteward release`: removes everything that siteward wrote to a site's Nodes, so that another program can judge them.
 */
export async function run(io: Io, { flags, values }: Args): Promise<number> {
  const { config } = configOf(io, values.get("config"));
  const ambient = { clock: io.clock, random: io.random, log: noopLogger };
  const credentials = askedCredentials(io, config, ambient);
  // Throws if credentials are missing, before the user is asked for confirmation.
  await credentials.access();
  const dryRun = flags.has("dry-run");
  if (!dryRun && !flags.has("yes") && !(await isConfirmed(io, config.site.name))) return exit.usage;
  const transport = transportOf(io, config, ambient, credentials);
  const client = new KubeClient(ambient, {
    transport: transport.send,
    traffic: new Traffic(),
    limiter: new RequestLimiter(ambient, config.client),
    timeouts: { ...config.client.timeouts, watch: config.client.timeouts.list },
    userAgent: `siteward/${version} (release)`,
  });
  try {
    const release = new SiteRelease(ambient, {
      client,
      site: config.site,
      namespace: config.leader.namespace,
      leaseNamespaces: leaseNamespaces(config.leader),
      identity: identityOf(`release-by-${config.board.name}`, io.random),
      keepsTaints: isShadowed(config, "nodeLifecycle"),
      dryRun,
      print: (line) => io.stdout.line(line),
    });
    const { nodes, changed } = await release.run(io.signal);
    io.stdout.write(
      dryRun
        ? `${changed} of ${nodes} Nodes would be changed; no changes were made\n`
        : `${nodes} Nodes checked, ${changed} changed; no pod was touched and nothing was restarted\n` +
            "next: re-enable the controllers that were disabled for siteward with --controllers of kube-controller-manager\n",
    );
    return exit.ok;
  } finally {
    transport.close();
  }
}

async function isConfirmed(io: Io, site: string): Promise<boolean> {
  if (!canPrompt(io.stdout)) {
    io.stderr.line("siteward: release: confirm with --yes, or use --dry-run to see what would be done");
    return false;
  }
  const prompt = await promptOf(io.stdout, io.signal);
  try {
    const typed = await prompt.ask(
      `After this, siteward no longer judges the boards of this site. Type its name (${site}) to continue: `,
    );
    if (typed === site) return true;
    io.stderr.line("siteward: release: nothing was done");
    return false;
  } finally {
    prompt.close();
  }
}
