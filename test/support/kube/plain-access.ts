import type { Access } from "../../../agent/client/credentials/credentials.ts";

/** Access to a server that requires no credentials: no custom certificates, no token, no proxy. */
export const plainAccess = (server: string): Access => ({
  server: new URL(server),
  namespace: undefined,
  tls: { ca: undefined, certificate: undefined, key: undefined, serverName: undefined, verify: true },
  proxy: undefined,
  authorization: async () => undefined,
  outdated: false,
  refused: () => {},
});
