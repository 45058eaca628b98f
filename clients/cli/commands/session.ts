import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { SessionSchema } from "@signet/proto/auth/v1/records"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { Command } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { confirm, withYes } from "../confirm.ts"
import { usage } from "../failure.ts"
import { limitOption } from "../lists.ts"
import { inTenant, type PlaceOptions, placeOf } from "../place.ts"
import { listAll, type View } from "../records.ts"
import { timeText } from "../shape.ts"

const { listSessions, revokeSession } = SessionService.method
const { listPrincipalSessions, revokePrincipalSession, revokePrincipalSessions } = AppAuthService.method
const { logoutAll } = AuthService.method

const session = "ses_06enrrq000edm6xx1hjq8s9c9g"
const person = "prn_06enrrq000edm6xx1hjq8s9c9g"

interface ListOptions extends PlaceOptions {
  readonly limit: number
  readonly principal?: string
}

interface RevokeOptions extends PlaceOptions {
  readonly others?: boolean
  readonly principal?: string
  readonly yes?: boolean
}

export function sessionCommand(cli: Cli, run: Run): Command {
  const list = examples(
    inTenant(new Command("list"))
      .alias("ls")
      .description("List your active sessions, newest first; or those of a person, where you administer.")
      .option("--principal <id>", "The person: prn_…")
      .addOption(limitOption())
      .action(
        run(({ principal, ...options }: ListOptions) =>
          principal === undefined ? listOwn(cli, options.limit) : listOf(cli, principal, options),
        ),
      ),
    ["signet session list", `signet session list --principal ${person}`],
  )
  const revoke = examples(
    withYes(inTenant(new Command("revoke")))
      .description("Revoke a session of yours; or one or all of a person, where you administer.")
      .argument("[session]", "Its id: ses_…")
      .option("--others", "Revoke all your other sessions, in all apps.")
      .option("--principal <id>", "Revoke sessions of this person: the given one, or all.")
      .action(
        run((id: string | undefined, { others = false, principal, ...options }: RevokeOptions) =>
          principal === undefined ? end(cli, id, others) : endOf(cli, principal, id, options),
        ),
      ),
    [
      `signet session revoke ${session}`,
      "signet session revoke --others",
      `signet session revoke ${session} --principal ${person}`,
      `signet session revoke --principal ${person} --yes`,
    ],
  )
  return new Command("session").description("List and revoke sessions.").addCommand(list).addCommand(revoke)
}

function end(cli: Cli, sessionId: string | undefined, others: boolean) {
  if (others !== (sessionId === undefined)) throw usage("a session id or --others is required")
  if (sessionId === undefined) {
    return callAs(cli, logoutAll, { exceptCurrent: true }, (_, { revokedSessions }) => {
      show(cli, { revokedSessions }, () => `Revoked ${revokedSessions} other sessions.`)
      return 0
    })
  }
  return callAs(cli, revokeSession, { sessionId }, () => {
    show(cli, { id: sessionId, status: "REVOKED" }, () => `${sessionId} is revoked.`)
    return 0
  })
}

/** Revokes one session of a person, or all where the caller administers. */
async function endOf(cli: Cli, principalId: string, sessionId: string | undefined, options: RevokeOptions) {
  const { appId, tenantId } = await placeOf(cli, options)
  if (sessionId !== undefined) {
    return callAs(cli, revokePrincipalSession, { appId, sessionId }, () => {
      show(cli, { id: sessionId, status: "REVOKED" }, () => `${sessionId} is revoked.`)
      return 0
    })
  }
  await confirm(cli, options.yes, `${principalId}: signed out everywhere in ${tenantId || appId}.`)
  return callAs(cli, revokePrincipalSessions, { appId, tenantId, principalId }, (_, { revokedSessions }) => {
    show(cli, { revokedSessions }, () => `Revoked ${revokedSessions} sessions.`)
    return 0
  })
}

/** The sessions of a person where the caller administers. */
async function listOf(cli: Cli, principalId: string, { limit, ...options }: ListOptions): Promise<number> {
  const { appId, tenantId } = await placeOf(cli, options)
  return listAll(cli, listPrincipalSessions, limit, {
    view,
    request: (page) => ({ appId, tenantId, principalId, ...page }),
    items: ({ sessions }) => sessions,
    next: ({ nextPageToken }) => nextPageToken,
  })
}

const listOwn = (cli: Cli, limit: number): Promise<number> =>
  listAll(cli, listSessions, limit, {
    view,
    request: (page) => page,
    items: ({ sessions }) => sessions,
    next: ({ nextPageToken }) => nextPageToken,
  })

const view: View<typeof SessionSchema> = {
  schema: SessionSchema,
  fields: [
    ["id", ({ id }) => id],
    ["device", ({ device }) => device?.label],
    ["signed in", ({ createdAt }) => timeText(createdAt)],
    ["last used", ({ lastRefreshedAt }) => timeText(lastRefreshedAt)],
    ["idle until", ({ idleExpiresAt }) => timeText(idleExpiresAt)],
    ["", ({ current }) => (current ? "this one" : "")],
  ],
}
