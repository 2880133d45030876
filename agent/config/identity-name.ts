/** Names of fleets, sites and boards. They are levels of topics, and parts of the names of certificates and Leases. */
export const identityName = {
  pattern: /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/,
  accepts: "up to 40 small letters, digits and dashes, not beginning or ending with a dash",
};
