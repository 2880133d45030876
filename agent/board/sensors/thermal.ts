import { type BoardFiles, entries, numberIn, wordIn } from "./board-files.ts";
import type { TemperatureReading } from "./readings.ts";

/** Names of the processor's thermal zones. Other zones measure the air, a radio or a battery. */
const ofProcessor = /cpu|soc|tj|gpu|package|x86_pkg/i;

/**
 * The range of plausible temperatures, in degrees Celsius. A disabled sensor reports an impossible one, which is
 * ignored.
 */
const [coldest, hottest] = [-60, 150];

/**
 * The hottest zone of the processor, or of all zones if none is named after the processor; undefined if none can be
 * read.
 */
export function temperatureReading(files: BoardFiles): TemperatureReading | undefined {
  const all = entries(files, "/sys/class/thermal", "thermal_zone").flatMap((folder) => zoneIn(files, folder) ?? []);
  const own = all.filter(({ zone }) => ofProcessor.test(zone));
  const zones = own.length > 0 ? own : all;
  return zones.reduce<TemperatureReading | undefined>(
    (most, zone) => (most === undefined || zone.celsius > most.celsius ? zone : most),
    undefined,
  );
}

function zoneIn(files: BoardFiles, folder: string): TemperatureReading | undefined {
  const celsius = degrees(files, `${folder}/temp`);
  if (celsius === undefined) return undefined;
  const trips = tripPoints(files, folder);
  const lowest = (...kinds: readonly string[]): number | undefined => {
    const found = trips.flatMap(({ kind, celsius }) => (kinds.includes(kind) ? [celsius] : []));
    return found.length > 0 ? Math.min(...found) : undefined;
  };
  const zone = wordIn(files, `${folder}/type`) ?? "unknown";
  return { zone, celsius, slowsAt: lowest("passive", "hot"), stopsAt: lowest("critical") };
}

const maxTrips = 16;

function tripPoints(files: BoardFiles, folder: string): readonly { readonly kind: string; readonly celsius: number }[] {
  const trips: { readonly kind: string; readonly celsius: number }[] = [];
  for (let index = 0; index < maxTrips; index++) {
    const kind = wordIn(files, `${folder}/trip_point_${index}_type`);
    if (kind === undefined) break;
    const celsius = degrees(files, `${folder}/trip_point_${index}_temp`);
    if (celsius !== undefined && celsius > 0) trips.push({ kind, celsius });
  }
  return trips;
}

function degrees(files: BoardFiles, file: string): number | undefined {
  const milli = numberIn(files, file);
  if (milli === undefined) return undefined;
  const celsius = Math.round(milli / 100) / 10;
  return celsius > coldest && celsius < hottest ? celsius : undefined;
}
