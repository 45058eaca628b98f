// Sign-in at the substitute provider of a server in the development profile.
import type { ProviderSignIn } from "@signet/client-node"
import type { Cli, NamedProfile } from "../cli.ts"
import { CommandError, exitCodes } from "../failure.ts"
import type { BrowserClient } from "../profiles.ts"

interface DevelopmentSignIn {
  readonly appId: string
  readonly signIn: ProviderSignIn
}

/** Equal to server/development. */
export const developmentBrowser = ({ server }: Pick<NamedProfile, "server">): BrowserClient => ({
  issuer: `${server}/dev/idp-a`,
  clientId: "notes-web",
  redirectUris: ["http://127.0.0.1:8976/callback", "http://127.0.0.1:8977/callback"],
})

/**
 * A sign-in as any user; undefined if the server has no substitute provider, as outside of development.
 *
 * @param email Ada by default.
 */
export async function developmentSignIn(
  cli: Cli,
  { server }: NamedProfile,
  email?: string,
): Promise<DevelopmentSignIn | undefined> {
  const asked = cli
    .fetch(`${server}/dev/idp-a/login-request`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(email === undefined ? {} : { email }),
      redirect: "error",
      signal: AbortSignal.timeout(10_000),
    })
    .catch((cause: unknown) => {
      throw new CommandError("UNREACHABLE", exitCodes.unavailable, `${server} does not respond`, { cause })
    })
  const answer = await cli.terminal.during("asking the stand-in provider …", asked)
  if (!answer.ok) return undefined
  const json: unknown = await answer.json()
  const [appId, nonce, idToken] = ["appId", "nonce", "idToken"].map((name) => textIn(json, name))
  if (appId === undefined || nonce === undefined || idToken === undefined) return undefined
  return { appId, signIn: { provider: "IDP_A", nonce, credential: { idToken } } }
}

function textIn(json: unknown, name: string): string | undefined {
  const value =
    typeof json === "object" && json !== null ? Object.entries(json).find(([key]) => key === name)?.[1] : undefined
  return typeof value === "string" ? value : undefined
}
