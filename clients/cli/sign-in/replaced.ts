import { openAccount } from "../account.ts"
import { type Cli, type NamedProfile, note, profileOf } from "../cli.ts"

/** Revokes the sign-in that a new one replaces: otherwise nobody could, and it would stay valid for weeks. */
export async function leaveReplaced(cli: Cli, before: NamedProfile): Promise<void> {
  const { signIn, appId } = profileOf(cli)
  const isAnother = before.signIn !== signIn || (signIn === "session" && before.appId !== appId)
  if (before.signIn === undefined || !isAnother) return
  try {
    await using account = await openAccount({ ...cli, env: { ...cli.env, SIGNET_PAT: undefined } }, before)
    await account.signOut()
  } catch {
    note(cli, "The previous session could not be revoked: it stays active until it expires. See: signet session list")
  }
}
