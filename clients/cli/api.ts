// Calls a method of the contract: checks the method's requirement with the caller's token before sending; the service
// decides again.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf"
import { anyApp, createGuard } from "@signet/guard/guard"
import { createKeySet } from "@signet/guard/key-set"
import { requirementOf } from "@signet/guard/requirement"
import { webTokenCrypto } from "@signet/guard/token-crypto"
import { guardTool, type ToolCall } from "@signet/guard/tool"
import { checksIn, type Requirement } from "@signet/kernel/authz/requirement"
import { type Account, openAccount } from "./account.ts"
import { type Cli, complain, profileOf } from "./cli.ts"
import { type ErrorReport, hintOf, refusedOf, reportOf } from "./failure.ts"
import { plainJson } from "./plain.ts"

const timeoutMs = 20_000

/** A client of one server, with the profile's sign-in. */
export interface Api {
  readonly account: Account
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>>
}

type Work<O extends DescMessage> = (
  api: Api,
  answer: MessageShape<O>,
) => Promise<number | undefined> | number | undefined

/**
 * Calls a method and passes its answer to `work`.
 *
 * @param audience Audience of the token. Default: the auth service.
 * @returns The exit code. Refusals are printed.
 */
export async function callAs<I extends DescMessage, O extends DescMessage>(
  cli: Cli,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  work: Work<O>,
  audience?: string,
): Promise<number> {
  await using account = await openAccount(cli, profileOf(cli))
  // Awaited here, because the account is closed on return.
  return await callWith(cli, account, method, request, work, audience)
}

/** As `callAs`, with an open account. */
export async function callWith<I extends DescMessage, O extends DescMessage>(
  cli: Cli,
  account: Account,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  work: Work<O>,
  audience?: string,
): Promise<number> {
  const api: Api = {
    account,
    async call(called, message) {
      const transport = await account.transport(audience)
      const waiting = transport.unary(called, undefined, timeoutMs, undefined, message)
      return (await cli.terminal.during(`${called.name} …`, waiting)).message
    },
  }
  const run = async () => work(api, await api.call(method, request))
  const requirement = requirementOf(method)
  if (!isDecidedByToken(requirement)) return (await run()) ?? 0
  return guard(cli, account, requirement, argumentsOf(method.input, request), run, audience)
}

async function guard(
  cli: Cli,
  account: Account,
  requirement: Requirement,
  args: ReadonlyMap<string, string>,
  run: () => Promise<number | undefined>,
  of: string | undefined,
): Promise<number> {
  const { issuer, server, audience, token } = await account.authentication(of)
  const clock = { nowMs: cli.nowMs }
  const keySet = createKeySet({
    url: `${server}/.well-known/jwks.json`,
    crypto: webTokenCrypto,
    clock,
    fetch: cli.fetch,
  })
  let hint: string | undefined
  let report: ErrorReport | undefined
  const tool = guardTool<ToolCall>(
    {
      guard: createGuard({ issuer, audience, appId: anyApp, keySet, clock }),
      requirement,
      onDeny: ({ reason, metadata }) => {
        hint = hintOf(reason, metadata)
      },
    },
    async () => {
      try {
        return await run()
      } catch (error) {
        const refused = refusedOf(error)
        report = refused && reportOf(error)
        throw refused ?? error
      }
    },
  )
  const lines: string[] = []
  const code = await tool({ token, args, json: cli.options.json === true, complain: (line) => lines.push(line) })
  if (report !== undefined) {
    complain(cli, report)
    return code
  }
  for (const line of lines) {
    if (cli.options.json) cli.terminal.err(plainJson(line))
    else complain(cli, { ...reportOf(new Error(line)), sentence: line, hint })
  }
  return code
}

/** True if the token alone decides the requirement. Only the service knows grants and freshness. */
function isDecidedByToken(requirement: Requirement): boolean {
  return checksIn(requirement).every(
    ({ is, freshness }) => (is === "scope" || is === "kinds") && freshness === undefined,
  )
}

/** The text fields of the request, by name. */
function argumentsOf<I extends DescMessage>(schema: I, request: MessageInitShape<I>): ReadonlyMap<string, string> {
  const json = toJson(schema, create(schema, request))
  const entries = typeof json === "object" && json !== null ? Object.entries(json) : []
  return new Map(entries.flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as const] : [])))
}
