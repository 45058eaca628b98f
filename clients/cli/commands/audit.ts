import { toJson } from "@bufbuild/protobuf"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import {
  type AuditEvent,
  AuditEvent_Outcome,
  AuditEvent_OutcomeSchema,
  AuditEventSchema,
  AuditService,
} from "@signet/proto/auth/v1/audit_service"
import { Reason, ReasonSchema } from "@signet/proto/authz/v1/reason"
import { Command, InvalidArgumentError, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { exitCodes } from "../failure.ts"
import { collect, collectPages, limitOption } from "../lists.ts"
import { runServerProgram } from "../server-program.ts"
import { nameIn, timeText, valueIn } from "../shape.ts"
import { formatTable } from "../table.ts"

const { listAuditEvents } = AuditService.method

interface ListOptions {
  app?: string
  tenant?: string
  kind?: readonly string[]
  outcome?: string
  principal?: string
  target?: string
  since?: Date
  until?: Date
  limit: number
}

export function auditCommand(cli: Cli, run: Run): Command {
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List audit events in your scope, newest first.")
      .option("--app <id>", "Only events in this app.")
      .option("--tenant <id>", "Only events in this tenant.")
      .addOption(
        new Option("--kind <kind...>", "Only events of these kinds, such as grant.created.").argParser(collect),
      )
      .addOption(
        new Option("--outcome <name>", "Only events with this outcome.").choices(["success", "failure", "denied"]),
      )
      .option("--principal <id>", "Only events whose actor or subject is this principal.")
      .option("--target <id>", "Only events with this target.")
      .option("--since <time>", "Only events since then: a time, or an age such as 30m, 24h or 7d.", parseTime(cli))
      .option("--until <time>", "Only events before then.", parseTime(cli))
      .addOption(limitOption())
      .action(run((options: ListOptions) => listThem(cli, options))),
    ["signet audit list --since 24h", "signet audit list --kind pat.created,pat.revoked --outcome denied --json"],
  )
  const verify = examples(
    new Command("verify")
      .description("Verify the whole audit log on the server's machine and report its errors.")
      .option("--checkpoints <file>", "File with exported checkpoints.")
      .option("--data <folder>", "Data folder of the development profile (SIGNET_DATA).")
      .action(run((options: { checkpoints?: string; data?: string }) => verifyIt(cli, options))),
    ["signet audit verify", "signet audit verify --checkpoints checkpoints.jsonl"],
  )
  return new Command("audit").description("Read and verify the audit log.").addCommand(list).addCommand(verify)
}

/** The exit code of the server's command for a flawed audit log, which is mapped to this program's code. */
const flawedCode = 3

async function verifyIt(cli: Cli, { checkpoints, data }: { checkpoints?: string; data?: string }): Promise<number> {
  const kept = checkpoints === undefined ? [] : ["--checkpoints", checkpoints]
  const args = ["audit", "verify", ...kept, ...(cli.options.json ? ["--json"] : [])]
  const running = runServerProgram(cli, "admin", { args, settings: { SIGNET_DATA: data }, isHeard: true })
  const { code, output } = await cli.terminal.during("reading the audit log …", running)
  if (output !== "") cli.terminal.out(output.trimEnd())
  return code === flawedCode ? exitCodes.conflict : code
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function parseTime({ nowMs }: Cli) {
  return (text: string): Date => {
    const [, count = "", unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
    const ms = unit === "" ? Date.parse(text) : nowMs() - Number(count) * (unitsMs[unit] ?? 0)
    if (Number.isFinite(ms)) return new Date(ms)
    throw new InvalidArgumentError("Use a time such as 2026-01-31T12:00:00Z, or an age such as 30m, 24h or 7d.")
  }
}

function listThem(cli: Cli, { limit, ...options }: ListOptions) {
  const filter = {
    appId: options.app ?? "",
    tenantId: options.tenant ?? "",
    kinds: [...(options.kind ?? [])],
    principalId: options.principal ?? "",
    targetId: options.target ?? "",
    outcome:
      valueIn(AuditEvent_Outcome, options.outcome ?? "outcome-unspecified") ?? AuditEvent_Outcome.OUTCOME_UNSPECIFIED,
    ...(options.since && { startTime: timestampFromDate(options.since) }),
    ...(options.until && { endTime: timestampFromDate(options.until) }),
  }
  return callAs(cli, listAuditEvents, { ...filter, pageSize: Math.min(limit, 200) }, async (api, first) => {
    const events = await collectPages(limit, async ({ pageSize, pageToken }) => {
      const page = pageToken === "" ? first : await api.call(listAuditEvents, { ...filter, pageSize, pageToken })
      return { items: page.auditEvents, nextPageToken: page.nextPageToken }
    })
    show(
      cli,
      events.map((event) => toJson(AuditEventSchema, event)),
      () => formatTable(cli.terminal, ["TIME", "KIND", "OUTCOME", "ACTOR", "TARGET", "WHY"], events.map(row)),
    )
    return 0
  })
}

const row = (event: AuditEvent) => [
  timeText(event.occurredAt),
  event.kind,
  nameIn(AuditEvent_OutcomeSchema, event.outcome),
  event.actorPrincipalId,
  event.target ? `${event.target.type} ${event.target.id}` : "",
  event.reason === Reason.REASON_UNSPECIFIED ? "" : (ReasonSchema.value[event.reason]?.name ?? ""),
]
