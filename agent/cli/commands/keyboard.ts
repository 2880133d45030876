/** The keys of a terminal. */
export interface Keyboard {
  /** Each key as it is pressed, Ctrl-C too, until the answer is called. */
  listen(pressed: (key: string) => void): () => void;
}

/** What the keyboard needs of a terminal's input. */
type Terminal = Pick<NodeJS.ReadStream, "setRawMode" | "setEncoding" | "on" | "off" | "resume" | "pause">;

/** A terminal whose keys are read one by one while somebody listens, and that is as it was before afterwards. */
export const keyboardOf = (terminal: Terminal): Keyboard => ({
  listen(pressed) {
    const heard = (keys: string): void => {
      for (const key of keysIn(keys)) pressed(key);
    };
    terminal.setRawMode(true);
    terminal.setEncoding("utf8");
    terminal.on("data", heard);
    terminal.resume();
    return () => {
      terminal.off("data", heard);
      terminal.setRawMode(false);
      terminal.pause();
    };
  },
});

/** Keys that were pressed quickly come together; an arrow is a sequence of its own. */
export function keysIn(text: string): readonly string[] {
  const letters = [...text];
  const keys: string[] = [];
  while (letters.length > 0) {
    const isArrow = letters[0] === "\u001b" && letters[1] === "[";
    keys.push(letters.splice(0, isArrow ? 3 : 1).join(""));
  }
  return keys;
}
