/**
 * Preloaded into an agent. Writes one line per second: the wall clock, then the longest turn of the event loop since
 * the previous line, in milliseconds of the thread's CPU time and of wall time. Other load on the machine lengthens
 * only the latter.
 */
import { appendFileSync } from "node:fs";

const file = process.env.LOOP_PROBE;
let [cpu, wall] = [used(), performance.now()];
let longest = { cpu: 0, wall: 0 };

function used() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

setInterval(() => {
  const [nowCpu, nowWall] = [used(), performance.now()];
  longest = { cpu: Math.max(longest.cpu, nowCpu - cpu), wall: Math.max(longest.wall, nowWall - wall) };
  [cpu, wall] = [nowCpu, nowWall];
}, 2).unref();

setInterval(() => {
  if (file) appendFileSync(file, `${Date.now()} ${longest.cpu.toFixed(1)} ${longest.wall.toFixed(1)}\n`);
  longest = { cpu: 0, wall: 0 };
}, 1000).unref();
