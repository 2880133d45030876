import { writeFileSync } from "node:fs";
import path from "node:path";
import { ExecPlugin } from "../../../agent/client/credentials/exec-credential.ts";
import { kubeconfigContext } from "../../../agent/client/credentials/kubeconfig.ts";
import { fits } from "../../../agent/commands/desk/command-pattern.ts";
import { isSignatureOf, newKeyPair, readPublicKey, signatureOf } from "../../../agent/commands/desk/signature.ts";
import { readTrust } from "../../../agent/commands/desk/trust.ts";
import { flatKubeconfig } from "../../../agent/enroll/flat-kubeconfig.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { ensure, type Target, taken, takenLater } from "../target.ts";
import { inFolder } from "./settings.ts";

const file = "/etc/siteward/kubeconfig";

const written = `apiVersion: v1
kind: Config
current-context: plant7
contexts:
- { name: plant7, context: { cluster: c, user: u, namespace: kube-system } }
clusters:
- name: c
  cluster: { server: "https://10.0.0.1:6443", certificate-authority-data: QUFBQQ==, tls-server-name: api }
users:
- name: u
  user:
    token: abc.def
    exec: { apiVersion: client.authentication.k8s.io/v1, command: cloud, args: [a, b], env: [{ name: X, value: y }] }
`;

const kubeconfig: Target = {
  name: "kubeconfig",
  form: "text",
  open: () => ({
    example: () => written,
    run: (input) =>
      taken(["CredentialsError"], () => {
        const { cluster, user } = kubeconfigContext(input.toString(), file, undefined);
        cluster.text("server");
        cluster.flag("insecure-skip-tls-verify");
        cluster.decoded("certificate-authority-data");
        user.text("token");
        user.fields("exec");
      }),
  }),
};

const flat: Target = {
  name: "kubeconfig-enrolled",
  form: "text",
  share: 10,
  open: () =>
    inFolder((folder) => ({
      example: () => written,
      run: (input) => {
        const place = path.join(folder, "kubeconfig");
        writeFileSync(place, input);
        return takenLater(["CredentialsError"], () => flatKubeconfig(place, undefined));
      },
    })),
};

const exec: Target = {
  name: "exec-credential",
  form: "json",
  // Each input starts a process.
  share: 1,
  open: () =>
    inFolder((folder) => ({
      example: () =>
        JSON.stringify({
          apiVersion: "client.authentication.k8s.io/v1",
          kind: "ExecCredential",
          status: { token: "abc.def", expirationTimestamp: "2026-11-20T13:00:00Z" },
        }),
      run: (input) => {
        writeFileSync(path.join(folder, "answer"), input);
        const plugin = new ExecPlugin(new FakeClock("2026-11-20T12:00:00Z"), {
          where: "kubeconfig: user",
          file: path.join(folder, "kubeconfig"),
          exec: {
            apiVersion: "client.authentication.k8s.io/v1",
            command: "/bin/cat",
            args: [path.join(folder, "answer")],
          },
          environment: {},
          cluster: {},
        });
        return takenLater(["CredentialsError"], () => plugin.credential());
      },
    })),
};

/** Damaged keys and unreadable limits, which must not permit anything more. */
const trust: Target = {
  name: "trust",
  form: "text",
  share: 10,
  open: () =>
    inFolder((folder) => {
      const { publicKey } = newKeyPair();
      const limits = 'commands: [eviction.*, ping]\nscopes: [board]\nnot_after: "2027-01-01T00:00:00Z"\n';
      return {
        example: (random) => (random.next() < 0.5 ? publicKey : limits),
        run: (input) => {
          const isKey = input.includes("PUBLIC");
          writeFileSync(path.join(folder, "ops.pub"), isKey ? input : publicKey);
          writeFileSync(path.join(folder, "ops.yaml"), isKey ? limits : input);
          const { keys, isInstalled, problems } = readTrust(folder);
          ensure(isInstalled, "with an unreadable key unsigned commands are refused");
          ensure(keys.size + problems.length === 1, "a key is read or reported as a problem");
          for (const { commands } of keys.values()) for (const pattern of commands) fits(pattern, "eviction.freeze");
          return keys.size > 0;
        },
      };
    }),
};

const signature: Target = {
  name: "signature",
  form: "text",
  share: 20,
  open: () => {
    const { privateKey, publicKey } = newKeyPair();
    const [topic, payload, key] = ["sw1/a/b/c", Buffer.from("{}"), readPublicKey(publicKey)];
    const good = signatureOf(topic, payload, privateKey);
    return {
      example: () => good,
      run: (input) => {
        const isGood = isSignatureOf(input.toString(), topic, payload, key);
        ensure(!isGood || input.toString() === good, "only one text is the signature");
        return isGood;
      },
    };
  },
};

export const credentials: readonly Target[] = [kubeconfig, flat, exec, trust, signature];
