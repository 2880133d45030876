/**
 * JSON byte for byte as Go writes it. The API server keeps the data of a ControllerRevision as it was sent, and kubectl
 * and kube-controller-manager compare its bytes: a single `&&` in a command would be another template to them, and a
 * patch of anything else in the revision would be refused because its data seems to change.
 */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    // None of these has a meaning in JSON: they only occur inside strings.
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
