import type { Access } from "../../../agent/client/credentials/credentials.ts";

/** To a server that asks for nothing: no certificates of a kind of its own, no token, no proxy. */
export const plainAccess = (server: string): Access => ({
  server: new URL(server),
  namespace: undefined,
  tls: { ca: undefined, certificate: undefined, key: undefined, serverName: undefined, verify: true },
  proxy: undefined,
  authorization: async () => undefined,
  outdated: false,
  refused: () => {},
});
