import { toJson } from "@bufbuild/protobuf"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { type Session, SessionSchema } from "@signet/proto/auth/v1/records"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { Command } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { collectPages, limitOption } from "../lists.ts"
import { timeText } from "../shape.ts"
import { formatTable } from "../table.ts"

const { listSessions, revokeSession } = SessionService.method
const { logoutAll } = AuthService.method

export function sessionCommand(cli: Cli, run: Run): Command {
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List your active sessions, newest first.")
      .addOption(limitOption())
      .action(run(({ limit }: { limit: number }) => listThem(cli, limit))),
    ["signet session list"],
  )
  const revoke = examples(
    new Command("revoke")
      .description("Revoke a session.")
      .argument("[session]", "Its id: ses_…")
      .option("--others", "Revoke all your other sessions, in all apps.")
      .action(run((id: string | undefined, { others = false }: { others?: boolean }) => end(cli, id, others))),
    ["signet session revoke ses_06enrrq000edm6xx1hjq8s9c9g", "signet session revoke --others"],
  )
  return new Command("session").description("List and revoke your sessions.").addCommand(list).addCommand(revoke)
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

function listThem(cli: Cli, limit: number) {
  return callAs(cli, listSessions, { pageSize: Math.min(limit, 200) }, async (api, first) => {
    const sessions = await collectPages(limit, async ({ pageSize, pageToken }) => {
      const page = pageToken === "" ? first : await api.call(listSessions, { pageSize, pageToken })
      return { items: page.sessions, nextPageToken: page.nextPageToken }
    })
    show(
      cli,
      sessions.map((session) => toJson(SessionSchema, session)),
      () => formatTable(cli.terminal, ["ID", "DEVICE", "SIGNED IN", "LAST USED", "IDLE UNTIL", ""], sessions.map(row)),
    )
    return 0
  })
}

const row = (session: Session) => [
  session.id,
  session.device?.label ?? "",
  timeText(session.createdAt),
  timeText(session.lastRefreshedAt),
  timeText(session.idleExpiresAt),
  session.current ? "this one" : "",
]
