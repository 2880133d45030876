/** Parsing this many blocks a small board's event loop for 20 ms; an EndpointSlice of 1000 endpoints has 12 000. */
export const mostMembers = 30_000;
const shortest = mostMembers * '"":0,'.length;

/** Whether a JSON text has more members than an honest object; counted without parsing. */
export function isCrowded(text: string): boolean {
  if (text.length < shortest) return false;
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + sign.length)) {
    // After a backslash, it is part of a string that itself holds JSON.
    if (text.charCodeAt(at - 1) !== backslash && ++count > mostMembers) return true;
  }
  return false;
}

const sign = '":';
const backslash = 0x5c;
