/** What fleets, sites and boards are called: it is a level of a topic, a part of a certificate's name and of a Lease's. */
export const identityName = {
  pattern: /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/,
  accepts: "up to 40 small letters, digits and dashes, not beginning or ending with a dash",
};
