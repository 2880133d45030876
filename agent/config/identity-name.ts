/** The form of names of fleets, sites and boards, which are used in MQTT topics, certificates and names of Leases. */
export const identityName = {
  pattern: /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/,
  accepts: "up to 40 lowercase letters, digits and dashes, not beginning or ending with a dash",
};
