import { toJson } from "@bufbuild/protobuf"
import { AuthService, MeResponseSchema } from "@signet/proto/auth/v1/auth_service"
import { Command } from "commander"
import { openAccount } from "../account.ts"
import { callWith } from "../api.ts"
import { claimText, decodeToken } from "../claims.ts"
import { type Cli, examples, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { timeText } from "../shape.ts"
import { formatRecord } from "../table.ts"

export function whoamiCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("whoami")
      .description("Show the signed-in principal, its app, and its scopes.")
      .action(run(() => whoami(cli))),
    ["signet whoami", "signet whoami --json"],
  )
}

async function whoami(cli: Cli): Promise<number | undefined> {
  const profile = profileOf(cli)
  await using account = await openAccount(cli, profile)
  const { is } = account
  const claims = decodeToken((await account.accessToken()).token)?.claims ?? {}
  const scopes = Array.isArray(claims.scp) ? claims.scp.map(String) : []
  const place = [
    ["server", profile.server],
    ["profile", profile.name],
    ["signed in with", is === "pat" ? "a personal access token" : "a session"],
    ["app", claimText(claims, "app_id")],
    ["tenant", claimText(claims, "tenant_id")],
    ["context", claimText(claims, "context_id")],
  ] as const
  if (is === "pat") {
    const principal = claimText(claims, "sub")
    const json = {
      server: profile.server,
      profile: profile.name,
      signIn: "pat",
      principalId: principal,
      appId: claims.app_id,
      scopes,
    }
    show(cli, json, () =>
      formatRecord(cli.terminal, [["principal", principal], ...place, ["scopes", scopes.join(", ")]]),
    )
    return 0
  }
  return await callWith(cli, account, AuthService.method.me, {}, (_, me) => {
    const json = {
      ...Object(toJson(MeResponseSchema, me)),
      server: profile.server,
      profile: profile.name,
      signIn: "session",
      scopes,
    }
    show(cli, json, () =>
      formatRecord(cli.terminal, [
        ["email", me.identity?.primaryEmail],
        ["identity", me.identity?.id],
        ["principal", me.principal?.id],
        ...place,
        ["session", me.session?.id],
        ["until", timeText(me.session?.absoluteExpiresAt)],
        ["scopes", scopes.join(", ")],
      ]),
    )
    return 0
  })
}
