// IPv4, IPv6 and both.
const both = "10.9.0.1,fd00:9::1";

export default {
  title: "address families",
  steps: [
    {
      name: "one service of each family, and of both in either order",
      do: async (site) => {
        await site.node("n1");
        await site.pod("both", { node: "n1", labels: { app: "web" }, play: { ip: both } });
        await site.pod("six", { node: "n1", labels: { app: "web" }, play: { ip: "fd00:9:0:0:0:0:0:2" } });
        await site.pod("four", { node: "n1", labels: { app: "web" }, play: { ip: "10.9.0.3" } });
        await site.wait((now) => ["both", "six", "four"].every((name) => now.podReady(name) === "True"));
        const selector = { app: "web" };
        await site.service("v4", { selector });
        await site.service("v6", { selector, ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" });
        await site.service("v46", { selector, ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" });
        await site.service("v64", { selector, ipFamilies: ["IPv6", "IPv4"], ipFamilyPolicy: "PreferDualStack" });
        await site.service("headless", {
          selector,
          clusterIP: "None",
          ipFamilies: ["IPv6", "IPv4"],
          ipFamilyPolicy: "RequireDualStack",
        });
      },
      until: (now) =>
        now.endpoints("v6")?.ready === 2 && now.slices("v64").length === 2 && now.slices("headless").length === 2,
    },
    {
      name: "one gets a second family",
      do: (site) =>
        site.patch("service/v4", { spec: { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv4", "IPv6"] } }),
      until: (now) => now.slices("v4").length === 2,
    },
    {
      name: "and loses it",
      do: (site) => site.patch("service/v4", { spec: { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"] } }),
      until: (now) => now.slices("v4").length === 1,
    },
    {
      name: "a pod gets another address",
      do: (site) => site.says("pod/four", { ip: "10.9.0.4" }),
      until: (now) => now.sliced("v4").some(({ addresses }) => addresses[0] === "10.9.0.4"),
    },
  ],
};
