import { openAccount } from "./account.ts"
import { claimText, decodeToken } from "./claims.ts"
import { type Cli, profileOf } from "./cli.ts"
import { usage } from "./failure.ts"

/** The given app, else the app of the sign-in. */
export async function appIdOf(cli: Cli, argument: string | undefined): Promise<string> {
  const profile = profileOf(cli)
  const known = argument ?? profile.appId
  if (known !== undefined) return known
  await using account = await openAccount(cli, profile)
  const { token } = await account.accessToken()
  const app = claimText(decodeToken(token)?.claims ?? {}, "app_id")
  if (app === undefined) throw usage("the app is required")
  return app
}
