import { readFileSync } from "node:fs";
import path from "node:path";
import type { Status } from "../../agent/status/schema.ts";
import { until } from "../support/agent-process.ts";
import { SystemdHost } from "../support/systemd-host.ts";

export const root = path.resolve(import.meta.dirname, "../..");

/** Why these suites are skipped on this machine; printed once, so that skipped suites are not mistaken for passed ones. */
export const whyNoHost = SystemdHost.whyNot();
if (whyNoHost !== undefined) console.warn(`skipped: everything under a real systemd, because ${whyNoHost}`);

/** Sections of the configuration. In all stories the board is pi-1. */
export type Sections = Readonly<Record<string, object>>;

/** The port on the host's own loopback interface, which no other process uses. */
const apiPort = 6440;

export const kubeconfigFor = (server: string): string => `apiVersion: v1
kind: Config
clusters: [{ name: site, cluster: { server: "${server}" } }]
users: [{ name: siteward, user: {} }]
contexts: [{ name: site, context: { cluster: site, user: siteward } }]
current-context: site
`;

const drops = "/etc/systemd/system/siteward.service.d";

/** A board like an operator's: a host with a real systemd, and siteward installed in the places that its unit names. */
export class Board {
  readonly host: SystemdHost;

  private constructor(host: SystemdHost) {
    this.host = host;
  }

  /** Copies the project's files to their places without a package. `dist` replaces the shipped bundle. */
  static async make(options: { readonly dist?: string } = {}): Promise<Board> {
    const { dist = path.join(root, "dist") } = options;
    const host = await SystemdHost.boot();
    const board = new Board(host);
    try {
      await host.sh(`
        set -e
        lib=/usr/lib/siteward
        mkdir -p $lib/bin $lib/node_modules /etc/siteward /usr/lib/sysusers.d /usr/lib/tmpfiles.d
        ln -s "$(readlink -f '${process.execPath}')" /tmp/node
        touch $lib/bin/node && mount --bind "$(readlink -f /tmp/node)" $lib/bin/node
        cp -rL '${dist}' $lib/dist
        cp -r '${root}/firmware-profiles' $lib/profiles.d
        cp '${root}/package.json' $lib/
        cp -rL '${root}/node_modules/better-sqlite3' $lib/node_modules/
        cp '${root}/systemd/launch.pl' $lib/
        cp '${root}/systemd/siteward.service' /lib/systemd/system/
        cp '${root}/systemd/sysusers.conf' /usr/lib/sysusers.d/siteward.conf
        cp '${root}/systemd/tmpfiles.conf' /usr/lib/tmpfiles.d/siteward.conf
        chmod -R go+rX $lib/dist $lib/profiles.d $lib/package.json $lib/node_modules $lib/launch.pl
        systemd-sysusers && systemd-tmpfiles --create siteward.conf && systemctl daemon-reload`);
      await board.configure({});
      return board;
    } catch (error) {
      await host.end();
      throw error;
    }
  }

  configure(sections: Sections): Promise<void> {
    const whole = { board: { name: "pi-1" }, status: { minInterval: "200ms" }, ...sections };
    const text = Object.entries(whole).map(([name, section]) => `${name}: ${JSON.stringify(section)}\n`);
    const head = "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\n";
    return this.host.write("/etc/siteward/siteward.yaml", head + text.join(""));
  }

  /** Adds a drop-in with these lines of `[Service]`. */
  async drop(name: string, lines: string): Promise<void> {
    await this.host.write(`${drops}/${name}.conf`, lines.startsWith("[") ? lines : `[Service]\n${lines}\n`);
    await this.host.sh("systemctl daemon-reload");
  }

  /** Installs a shipped drop-in. */
  dropShipped(name: string): Promise<void> {
    return this.drop(name, readFileSync(path.join(root, "systemd/drop-ins", `${name}.conf`), "utf8"));
  }

  async undrop(): Promise<void> {
    await this.host.sh(`rm -rf ${drops} && systemctl daemon-reload`);
  }

  /** Writes a kubeconfig to the unit's credentials. */
  enrol(kubeconfig: string): Promise<void> {
    return this.host.write("/etc/siteward/credentials/kubeconfig", kubeconfig, "600");
  }

  /** Starts an API server on this host and writes credentials for it. */
  async site(): Promise<void> {
    const server = path.join(root, "test/systemd/site-server.ts");
    await this.host.sh(`
      systemctl is-active --quiet site ||
        systemd-run --quiet --unit=site "$(readlink -f '${process.execPath}')" '${server}' ${apiPort}`);
    const answers = async (): Promise<boolean> =>
      (await this.host.run(`exec 3<>/dev/tcp/127.0.0.1/${apiPort}`)).code === 0;
    await until("the API server listens", answers, 60);
    await this.enrol(kubeconfigFor(`http://127.0.0.1:${apiPort}`));
  }

  start(): Promise<string> {
    return this.host.sh("systemctl start siteward", { seconds: 100 });
  }

  /** Restores the state after an installation: stopped, without traces of earlier stories. */
  async reset(): Promise<void> {
    await this.host.sh("systemctl stop siteward; systemctl reset-failed siteward 2>/dev/null; true");
    await this.undrop();
    await this.host.sh("rm -rf /var/lib/siteward/* /run/siteward /etc/siteward/credentials/* /etc/siteward/conf.d");
    await this.configure({});
  }

  async pid(): Promise<number> {
    return Number((await this.host.unit("siteward", "MainPID")).MainPID);
  }

  async status(): Promise<Status | undefined> {
    const { code, stdout } = await this.host.run(["cat", "/run/siteward/status.json"]);
    return code === 0 ? (JSON.parse(stdout) as Status) : undefined;
  }

  /** Waits for a status that meets the condition. */
  async untilStatus(what: string, holds: (status: Status) => boolean, seconds = 30): Promise<Status> {
    let found: Status | undefined;
    const more = (): string => JSON.stringify(found?.health.conditions ?? "no status");
    await until(
      what,
      async () => {
        found = await this.status();
        return found !== undefined && holds(found);
      },
      seconds,
      more,
    );
    if (!found) throw new Error("no status");
    return found;
  }

  journal(...options: readonly string[]): Promise<string> {
    return this.host.journal("siteward", ...options);
  }

  end(): Promise<void> {
    return this.host.end();
  }
}
