import { Command } from "commander"
import { notSignedIn, openAccount } from "../account.ts"
import { type Cli, examples, keepProfile, note, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"

export function logoutCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("logout")
      .description("Sign out, here and at the server. A personal access token is only removed here.")
      .action(run(() => logout(cli))),
    ["signet logout"],
  )
}

async function logout(cli: Cli): Promise<number> {
  const profile = profileOf(cli)
  if (profile.signIn === undefined) throw notSignedIn(profile)
  // Ignores a token of the environment, which is not stored here.
  await using account = await openAccount({ ...cli, env: { ...cli.env, SIGNET_PAT: undefined } }, profile)
  const { endedAtService } = await cli.terminal.during("signing out …", account.signOut())
  keepProfile(cli, { ...profile, signIn: undefined })
  show(cli, { server: profile.server, profile: profile.name, signIn: null }, () => `Signed out of ${profile.server}.`)
  if (account.is === "session" && !endedAtService) {
    note(cli, "The server was not reached: the session there stays active until it expires. See: signet session list")
  }
  return 0
}
