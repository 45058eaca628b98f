import { toJson } from "@bufbuild/protobuf"
import type { Duration } from "@bufbuild/protobuf/wkt"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import {
  type GetLimitsResponse,
  GetLimitsResponseSchema,
  type Lockout,
  Lockout_KindSchema,
  LockoutSchema,
} from "@signet/proto/auth/v1/limits"
import { Command } from "commander"
import { type Api, callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { confirm, withYes } from "../confirm.ts"
import { usage } from "../failure.ts"
import { collectPages, limitOption } from "../lists.ts"
import { listAll, type Page, showOne, type View } from "../records.ts"
import { nameIn, timeText } from "../shape.ts"
import { formatTable } from "../table.ts"

const { getLimits, listLockouts, liftLockout } = AppAuthService.method
const argument = ["<lockout>", "Its id, or the first 8 digits or more."] as const
const example = "3f9a2c71d04e"
/** Enough to tell lockouts apart, and short enough to type. */
const shownDigits = 12

const view: View<typeof LockoutSchema> = {
  schema: LockoutSchema,
  fields: [
    ["id", ({ id }) => id.slice(0, shownDigits)],
    ["kind", ({ kind }) => nameIn(Lockout_KindSchema, kind)],
    ["name", ({ name }) => name],
    ["network", ({ network }) => network],
    ["caller", ({ principalId }) => principalId],
    ["since", ({ refusedAt }) => timeText(refusedAt)],
    ["until", ({ expiresAt }) => timeText(expiresAt)],
  ],
}

const wholeView: View<typeof LockoutSchema> = {
  ...view,
  fields: [["id", ({ id }) => id], ...view.fields.slice(1)],
}

/** For administrators of the installation, like the console's page of limits and lockouts. */
export function lockoutCommand(cli: Cli, run: Run): Command {
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List the limits and locks that refuse calls now, latest expiry first.")
      .addOption(limitOption())
      .action(
        run(({ limit }: { limit: number }) =>
          listAll(cli, listLockouts, limit, {
            view,
            request: (page) => page,
            items: ({ lockouts }) => lockouts,
            next: ({ nextPageToken }) => nextPageToken,
          }),
        ),
      ),
    ["signet lockout list", "signet lockout list --json"],
  )
  const get = examples(
    new Command("get")
      .description("Show a limit or lock that refuses calls now.")
      .argument(...argument)
      .action(run((id: string) => withLockout(cli, id, async (_, lockout) => showOne(cli, wholeView, lockout)))),
    [`signet lockout get ${example}`],
  )
  const lift = examples(
    withYes(new Command("lift"))
      .description("Lift a limit or lock, and forget its count. Every process follows within ten seconds.")
      .argument(...argument)
      .action(
        run((id: string, { yes }: { yes?: boolean }) =>
          withLockout(cli, id, async (api, lockout) => {
            await confirm(
              cli,
              yes,
              `${lockout.name} from ${lockout.network || "an unknown network"}: calls are accepted.`,
            )
            await api.call(liftLockout, { lockoutId: lockout.id })
            show(cli, { id: lockout.id, lifted: true }, () => `${lockout.name} is lifted.`)
            return 0
          }),
        ),
      ),
    [`signet lockout lift ${example} --yes`],
  )
  const limits = examples(
    new Command("limits")
      .description("Show the rate limits and lockout policies in force.")
      .action(run(() => callAs(cli, getLimits, {}, (_, answer) => showLimits(cli, answer)))),
    ["signet lockout limits"],
  )
  const command = new Command("lockout").description(
    "Limits and lockouts: which calls are refused now, and until when.",
  )
  for (const one of [list, get, lift, limits]) command.addCommand(one)
  return command
}

/** The digits of an id by which a person may name it. */
const named = /^[0-9a-f]{8,64}$/

/** Finds the only lockout whose id begins with the digits: the contract has no call for one. */
function withLockout(cli: Cli, digits: string, work: (api: Api, lockout: Lockout) => Promise<number>): Promise<number> {
  if (!named.test(digits)) throw usage(`${digits} is no lockout id: 8 to 64 hexadecimal digits`)
  return callAs(cli, listLockouts, { pageSize: 200 }, async (api, answered) => {
    const all = await collectPages(mostSearched, async ({ pageToken }: Page) => {
      const page = pageToken === "" ? answered : await api.call(listLockouts, { pageSize: 200, pageToken })
      return { items: page.lockouts, nextPageToken: page.nextPageToken }
    })
    const [found, ...others] = all.filter(({ id }) => id.startsWith(digits))
    if (found === undefined) {
      throw usage(`no lockout ${digits} refuses calls now`, "It may have expired. See: signet lockout list")
    }
    if (others.length > 0) throw usage(`${others.length + 1} lockouts begin with ${digits}: use more digits`)
    return work(api, found)
  })
}

const mostSearched = 100_000

function showLimits(cli: Cli, answer: GetLimitsResponse): number {
  const { enabled, rateLimits, lockoutPolicies } = answer
  show(cli, toJson(GetLimitsResponseSchema, answer), () =>
    formatTable(
      cli.terminal,
      ["NAME", "KIND", "SETTING"],
      [
        ...(enabled ? [] : [["all", "off", "the operator has disabled all limits"]]),
        ...lockoutPolicies.map(({ name, failures, period, firstLock, longestLock }) => [
          name,
          "lock",
          `${failures} failures in ${seconds(period)} lock for ${seconds(firstLock)}, at most ${seconds(longestLock)}`,
        ]),
        ...rateLimits.map(({ name, calls, period }) => [name, "rate-limit", `${calls} calls in ${seconds(period)}`]),
      ],
    ),
  )
  return 0
}

const seconds = (of: Duration | undefined): string => `${of?.seconds ?? 0n} s`
