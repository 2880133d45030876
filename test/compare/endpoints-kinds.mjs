// All kinds of services: their ports, types and cluster IPs, and the states of their pods.
const ready = (now, ...names) => names.every((name) => now.podReady(name) === "True");
const named = (name, containerPort, protocol = "TCP") => ({ name, containerPort, protocol });

export default {
  title: "kinds of services and of pods",
  triggerTimes: true,
  steps: [
    {
      name: "named ports that differ from pod to pod, and one that is not there",
      do: async (site) => {
        await site.node("n1", { zone: "east" });
        await site.pod("a", {
          node: "n1",
          labels: { app: "web" },
          ports: [named("http", 8080), named("dns", 53, "UDP")],
        });
        await site.pod("b", {
          node: "n1",
          labels: { app: "web" },
          ports: [named("http", 9090), named("dns", 53, "TCP")],
        });
        await site.pod("c", { node: "n1", labels: { app: "web" } });
        await site.pod("d", {
          node: "n1",
          labels: { app: "web" },
          initContainers: [
            { name: "side", image: "example/side:1", restartPolicy: "Always", ports: [named("http", 7070)] },
            { name: "first", image: "example/first:1", ports: [named("dns", 54, "UDP")] },
          ],
        });
        await site.wait((now) => ready(now, "a", "b", "c", "d"));
        await site.service("web", {
          selector: { app: "web" },
          ports: [
            { name: "http", port: 80, targetPort: "http", appProtocol: "example.com/http" },
            { name: "dns", port: 53, targetPort: "dns", protocol: "UDP" },
          ],
        });
      },
      until: (now) => now.endpoints("web")?.ready === 3,
    },
    {
      name: "two ports that lead to the same one, and one more",
      do: (site) =>
        site.service("twice", {
          selector: { app: "web" },
          ports: [
            { name: "one", port: 80, targetPort: 8080 },
            { name: "two", port: 81, targetPort: 8080 },
            { name: "sctp", port: 82, targetPort: 8082, protocol: "SCTP" },
          ],
        }),
      until: (now) => now.endpoints("twice")?.ready === 4 && now.slices("twice").length > 0,
    },
    {
      name: "headless services, with ports and without",
      do: async (site) => {
        await site.service("headless", { selector: { app: "web" }, clusterIP: "None" });
        await site.service("portless", { selector: { app: "web" }, clusterIP: "None", ports: undefined });
      },
      until: (now) => now.endpoints("headless")?.ready === 4 && now.endpoints("portless")?.ready === 4,
    },
    {
      name: "services that are not ours, and one that matches no pod",
      do: async (site) => {
        await site.service("outside", { type: "ExternalName", externalName: "example.com", selector: { app: "web" } });
        await site.service("by-hand", {});
        await site.service("nobody", { selector: { app: "nobody" }, labels: { team: "none" } });
      },
      until: (now) => now.endpoints("nobody")?.ready === 0 && now.slices("nobody").length === 1,
    },
    {
      name: "hostnames for a subdomain, and two pods of one address",
      do: async (site) => {
        await site.pod("named", { node: "n1", labels: { app: "db" }, hostname: "db-0", subdomain: "db" });
        await site.pod("elsewhere", { node: "n1", labels: { app: "db" }, hostname: "db-1", subdomain: "other" });
        await site.pod("host-1", { node: "n1", labels: { app: "db" }, play: { ip: "192.0.2.7" } });
        await site.pod("host-2", { node: "n1", labels: { app: "db" }, play: { ip: "192.0.2.7" } });
        await site.wait((now) => ready(now, "named", "elsewhere", "host-1", "host-2"));
        await site.service("db", { selector: { app: "db" }, clusterIP: "None" });
      },
      until: (now) => now.endpoints("db")?.ready === 4,
    },
    {
      name: "who wants all pods gets the unready ones too",
      do: async (site) => {
        await site.pod("late", { node: "n1", labels: { app: "all" }, play: { ready: "false" } });
        await site.pod("over", { node: "n1", labels: { app: "all" }, play: { phase: "Succeeded" } });
        await site.pod("failed", { node: "n1", labels: { app: "all" }, play: { phase: "Failed" } });
        await site.pod("no-ip", { node: "n1", labels: { app: "all" }, play: { ip: "none" } });
        await site.pod("unbound", { labels: { app: "all" } });
        await site.pod("slow", { node: "n1", labels: { app: "all" }, play: { finish: "never" } });
        await site.wait((now) => now.podReady("late") === "False" && ready(now, "slow", "no-ip"));
        await site.service("all", { selector: { app: "all" }, publishNotReadyAddresses: true });
        await site.service("some", { selector: { app: "all" } });
      },
      until: (now) => now.endpoints("all")?.ready === 2 && now.endpoints("some")?.ready === 1,
    },
    {
      name: "a pod takes long to end",
      do: (site) => site.delete("pod/slow"),
      until: (now) =>
        now.endpoints("some")?.ready === 0 && now.sliced("some").some((one) => one.conditions.terminating),
    },
  ],
};
