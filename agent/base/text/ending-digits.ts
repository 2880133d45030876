/** The digits at the end of a name: "0" for "hwmon0", "" if there are none. */
export function endingDigits(name: string): string {
  let from = name.length;
  while (from > 0 && isDigit(name.charCodeAt(from - 1))) from--;
  return name.slice(from);
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
