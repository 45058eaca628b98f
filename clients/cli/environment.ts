/** The environment variables: see docs/reference/cli.md. */
export const variables = [
  "SIGNET_HOME",
  "SIGNET_PROFILE_NAME",
  "SIGNET_SERVER",
  "SIGNET_SERVER_ISSUER",
  "SIGNET_PAT",
  "SIGNET_STORE",
  "SIGNET_PASSPHRASE",
  "SIGNET_UNLOCK_MINUTES",
  "SIGNET_APP",
  "SIGNET_TENANT",
] as const

/** Secrets, which child processes do not get. */
export const secretVariables = ["SIGNET_PAT", "SIGNET_PASSPHRASE"] as const
