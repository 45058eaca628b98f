import { toJson } from "@bufbuild/protobuf"
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt"
import {
  type AuditEvent,
  AuditEvent_Outcome,
  AuditEvent_OutcomeSchema,
  type AuditEventCount,
  AuditEventSchema,
  AuditService,
  CountAuditEventsRequest_Group,
  CountAuditEventsResponseSchema,
} from "@signet/proto/auth/v1/audit_service"
import { Reason, ReasonSchema } from "@signet/proto/authz/v1/reason"
import { Command, InvalidArgumentError, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, note, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { exitCodes, usage } from "../failure.ts"
import { collect, collectPages, limitOption } from "../lists.ts"
import { runServerProgram } from "../server-program.ts"
import { nameIn, timeText, valueIn } from "../shape.ts"
import { formatTable } from "../table.ts"

const { countAuditEvents, listAuditEvents } = AuditService.method

interface FilterOptions {
  app?: string
  tenant?: string
  kind?: readonly string[]
  outcome?: string
  since?: Date
  until?: Date
}

interface ListOptions extends FilterOptions {
  principal?: string
  target?: string
  limit: number
}

interface CountOptions extends FilterOptions {
  every?: number
  by?: readonly string[]
}

export function auditCommand(cli: Cli, run: Run): Command {
  const list = examples(
    filtered(cli, new Command("list").alias("ls").description("List audit events in your scope, newest first."))
      .option("--principal <id>", "Only events whose actor or subject is this principal.")
      .option("--target <id>", "Only events with this target.")
      .addOption(limitOption())
      .action(run((options: ListOptions) => listThem(cli, options))),
    ["signet audit list --since 24h", "signet audit list --kind pat.created,pat.revoked --outcome denied --json"],
  )
  const count = examples(
    filtered(
      cli,
      new Command("count").description("Count audit events in your scope, of the last 24 hours by default."),
    )
      .option("--every <width>", "Width of a bucket, such as 30m, 24h or 7d. Default: one bucket.", parseAge)
      .addOption(
        new Option("--by <property...>", "Split the counts by kind, outcome or reason. Default: kind.").argParser(
          collect,
        ),
      )
      .action(run((options: CountOptions) => countThem(cli, options))),
    ["signet audit count --since 7d", "signet audit count --outcome denied --by reason --every 1h"],
  )
  const verify = examples(
    new Command("verify")
      .description("Verify the whole audit log on the server's machine and report its errors.")
      .option("--checkpoints <file>", "File with exported checkpoints.")
      .option("--data <folder>", "Data folder of the development profile (SIGNET_DATA).")
      .action(run((options: { checkpoints?: string; data?: string }) => verifyIt(cli, options))),
    ["signet audit verify", "signet audit verify --checkpoints checkpoints.jsonl"],
  )
  return new Command("audit")
    .description("Read and verify the audit log.")
    .addCommand(list)
    .addCommand(count)
    .addCommand(verify)
}

/** Adds the options that choose events. */
const filtered = (cli: Cli, command: Command): Command =>
  command
    .option("--app <id>", "Only events in this app.")
    .option("--tenant <id>", "Only events in this tenant.")
    .addOption(new Option("--kind <kind...>", "Only events of these kinds, such as grant.created.").argParser(collect))
    .addOption(
      new Option("--outcome <name>", "Only events with this outcome.").choices(["success", "failure", "denied"]),
    )
    .option("--since <time>", "Only events since then: a time, or an age such as 30m, 24h or 7d.", parseTime(cli))
    .option("--until <time>", "Only events before then.", parseTime(cli))

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

/** Milliseconds; undefined for another text. */
function ageOf(text: string): number | undefined {
  const [, count = "", unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  return unit === "" ? undefined : Number(count) * (unitsMs[unit] ?? 0)
}

function parseAge(text: string): number {
  const ms = ageOf(text)
  if (ms) return ms
  throw new InvalidArgumentError("Use a width such as 30m, 24h or 7d.")
}

function parseTime({ nowMs }: Cli) {
  return (text: string): Date => {
    const age = ageOf(text)
    const ms = age === undefined ? Date.parse(text) : nowMs() - age
    if (Number.isFinite(ms)) return new Date(ms)
    throw new InvalidArgumentError("Use a time such as 2026-01-31T12:00:00Z, or an age such as 30m, 24h or 7d.")
  }
}

const filterOf = (options: FilterOptions) => ({
  appId: options.app ?? "",
  tenantId: options.tenant ?? "",
  kinds: [...(options.kind ?? [])],
  outcome:
    valueIn(AuditEvent_Outcome, options.outcome ?? "outcome-unspecified") ?? AuditEvent_Outcome.OUTCOME_UNSPECIFIED,
})

function listThem(cli: Cli, { limit, ...options }: ListOptions) {
  const filter = {
    ...filterOf(options),
    principalId: options.principal ?? "",
    targetId: options.target ?? "",
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

function countThem(cli: Cli, { every = 0, by = ["kind"], ...options }: CountOptions) {
  const until = options.until ?? new Date(cli.nowMs())
  const since = options.since ?? new Date(until.getTime() - 24 * (unitsMs.h ?? 0))
  const groupBy = by.map((name) => valueIn(CountAuditEventsRequest_Group, name) ?? unknownGroup(name))
  const asked = {
    ...{ ...filterOf(options), groupBy, bucketSeconds: every / 1_000 },
    ...{ startTime: timestampFromDate(since), endTime: timestampFromDate(until) },
  }
  return callAs(cli, countAuditEvents, asked, async (_, answer) => {
    show(cli, toJson(CountAuditEventsResponseSchema, answer), () =>
      formatTable(cli.terminal, ["FROM", "KIND", "OUTCOME", "REASON", "COUNT"], answer.counts.map(countRow)),
    )
    const { countedStartTime } = answer
    if (countedStartTime !== undefined && timestampDate(countedStartTime) > since) {
      note(cli, `Events before ${timeText(countedStartTime)} are not counted. Count them with --until.`)
    }
    return 0
  })
}

function unknownGroup(name: string): never {
  throw usage(`${JSON.stringify(name)} is no property of a count`, "Use kind, outcome or reason.")
}

const countRow = (of: AuditEventCount) => [
  timeText(of.startTime),
  of.kind,
  of.outcome === AuditEvent_Outcome.OUTCOME_UNSPECIFIED ? "" : nameIn(AuditEvent_OutcomeSchema, of.outcome),
  reasonText(of.reason),
  String(of.count),
]

const reasonText = (reason: Reason): string =>
  reason === Reason.REASON_UNSPECIFIED ? "" : (ReasonSchema.value[reason]?.name ?? "")

const row = (event: AuditEvent) => [
  timeText(event.occurredAt),
  event.kind,
  nameIn(AuditEvent_OutcomeSchema, event.outcome),
  event.actorPrincipalId,
  event.target ? `${event.target.type} ${event.target.id}` : "",
  [reasonText(event.reason), event.denial?.missing].filter(Boolean).join(" "),
]
