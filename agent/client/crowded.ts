/** To parse so many members holds the event loop for 20 ms on a small board; an EndpointSlice of 1000 endpoints has 12 000. */
export const mostMembers = 30_000;
const shortest = mostMembers * '"":0,'.length;

/** Whether a JSON text has more members than an honest object, counted before anything is made of them. */
export function isCrowded(text: string): boolean {
  if (text.length < shortest) return false;
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + sign.length)) {
    // Behind a backslash it is part of a text that holds JSON itself.
    if (text.charCodeAt(at - 1) !== backslash && ++count > mostMembers) return true;
  }
  return false;
}

const sign = '":';
const backslash = 0x5c;
