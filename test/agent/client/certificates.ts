import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** An authority that issues certificates for a test, by the openssl program; Node itself cannot issue any. */
export class Authority {
  readonly folder = mkdtempSync(join(tmpdir(), "siteward-certificates-"));
  readonly ca: string;
  #issued = 0;

  constructor(name = "test authority") {
    this.#openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
      "-subj", `/CN=${name}`, "-keyout", "ca.key", "-out", "ca.crt"); // biome-ignore format: one command
    this.ca = this.#read("ca.crt");
    mkdirSync(join(this.folder, "issued"));
    writeFileSync(join(this.folder, "index.txt"), "");
    writeFileSync(
      join(this.folder, "ca.conf"),
      `[ca]\ndefault_ca=a\n[a]\ndatabase=${this.folder}/index.txt\nnew_certs_dir=${this.folder}/issued\nrand_serial=yes\n` +
        "default_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n",
    );
  }

  /** Valid from a year ago, or from later than now, to in ten years, or to a past day ("YYMMDDHHMMSSZ"). */
  issue(name: string, { from = "240101000000Z", to = "450101000000Z" } = {}): Pair {
    const file = `${this.#issued++}`;
    writeFileSync(join(this.folder, `${file}.ext`), "subjectAltName=DNS:localhost,DNS:api.site.test,IP:127.0.0.1\n");
    this.#openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", `/CN=${name.replaceAll("/", "\\/")}`,
      "-keyout", `${file}.key`, "-out", `${file}.csr`); // biome-ignore format: one command
    this.#openssl("ca", "-batch", "-config", "ca.conf", "-cert", "ca.crt", "-keyfile", "ca.key", "-in", `${file}.csr`,
      "-out", `${file}.crt`, "-extfile", `${file}.ext`, "-startdate", from, "-enddate", to, "-notext"); // biome-ignore format: one command
    return { cert: this.#read(`${file}.crt`), key: this.#read(`${file}.key`) };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #openssl(...args: string[]): void {
    execFileSync("openssl", args, { cwd: this.folder, stdio: "pipe" });
  }

  #read(file: string): string {
    return readFileSync(join(this.folder, file), "utf8");
  }
}

/** Whether certificates can be issued here; says so where they cannot, because the tests that need them are then left out. */
export function hasOpenssl(): boolean {
  try {
    execFileSync("openssl", ["version"], { stdio: "pipe" });
    return true;
  } catch {
    console.warn("left out: the tests that need certificates, because there is no openssl program here");
    return false;
  }
}
