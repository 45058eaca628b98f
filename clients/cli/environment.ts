/** What may be said in the environment: docs/reference/cli.md has each. */
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

/** Those that no other program gets. */
export const secretVariables = ["SIGNET_PAT", "SIGNET_PASSPHRASE"] as const
