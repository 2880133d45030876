/** The keyboard of a terminal. */
export interface Keyboard {
  /** Reports each key, including Ctrl-C, until the returned function is called. */
  listen(pressed: (key: string) => void): () => void;
}

/** The methods of a terminal's input stream that are used here. */
type Terminal = Pick<NodeJS.ReadStream, "setRawMode" | "setEncoding" | "on" | "off" | "resume" | "pause">;

/** Puts the terminal into raw mode while listening, and restores it afterwards. */
export const keyboardOf = (terminal: Terminal): Keyboard => ({
  listen(pressed) {
    const onData = (keys: string): void => {
      for (const key of keysIn(keys)) pressed(key);
    };
    terminal.setRawMode(true);
    terminal.setEncoding("utf8");
    terminal.on("data", onData);
    terminal.resume();
    return () => {
      terminal.off("data", onData);
      terminal.setRawMode(false);
      terminal.pause();
    };
  },
});

/** Splits input into keys: fast typing arrives in one chunk, and an arrow key is an escape sequence. */
export function keysIn(text: string): readonly string[] {
  const letters = [...text];
  const keys: string[] = [];
  while (letters.length > 0) {
    const isArrow = letters[0] === "\u001b" && letters[1] === "[";
    keys.push(letters.splice(0, isArrow ? 3 : 1).join(""));
  }
  return keys;
}
