// What a guarded call costs: verify and authorize, cold and warm, in a port and behind fetch, against jose; what a
// message costs; and what the grant check costs, against Cedar.
import { guardFetch } from "@signet/guard/fetch"
import { createGuard } from "@signet/guard/guard"
import { createLocalKeySet } from "@signet/guard/key-set"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { guardPort } from "@signet/guard/port"
import { createIssuer, ids } from "@signet/guard/testing/issuer"
import { type TokenCrypto, webTokenCrypto } from "@signet/guard/token-crypto"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { importJWK, jwtVerify } from "jose"
import { grantRows } from "./guard/grants.ts"
import { mailboxRows } from "./guard/mailbox.ts"

interface Row {
  readonly name: string
  /** Microseconds of CPU a call, all threads of the process: the median over the rounds. */
  readonly "cpu us": number
  /** Of jose.jwtVerify alone in the same run. */
  readonly ratio: number
}

const requirement: Requirement = {
  is: "allOf",
  of: [
    { is: "kinds", of: ["USER"] },
    { is: "scope", scope: "notes.read" },
    { is: "tenant", from: "BODY", field: "tenant_id" },
  ],
}

/** `calls` and `messages` of a round, and `models` of grants. */
export const sizes = {
  usual: { rounds: 7, calls: 1_000, messages: 500, models: 100 },
  smallest: { rounds: 1, calls: 20, messages: 10, models: 10 },
}

export async function run(size: typeof sizes.usual) {
  return [
    ...(await callRows(size)),
    ...(await mailboxRows({ rounds: size.rounds, calls: size.messages })),
    ...grantRows(size.models),
  ]
}

async function callRows({ rounds, calls }: typeof sizes.usual): Promise<readonly Row[]> {
  const issuer = createIssuer()
  const tenant = { tenant_id: ids.tenant }
  const headers = Array.from({ length: calls }, (_, i) => `Bearer ${issuer.token({ ...tenant, jti: `jti-${i}` })}`)
  const guardOf = (crypto: TokenCrypto, cacheSize: number) =>
    createGuard({ ...issuer, keySet: createLocalKeySet(issuer, crypto), crypto, cacheSize })
  const port = (crypto: TokenCrypto, cacheSize: number) => {
    const guarded = guardPort({ guard: guardOf(crypto, cacheSize), requirement }, () => true)
    return (authorization: string) => guarded({ authorization, values: new Map() }, tenant)
  }
  const edge = (cacheSize: number) => {
    const path = "/tenants/{tenant_id}"
    const byPath: Requirement = { is: "tenant", from: "PATH", field: "tenant_id" }
    const of = { guard: guardOf(webTokenCrypto, cacheSize), requirement: byPath, path }
    const handler = guardFetch(of, () => new Response(null))
    const url = `https://notes.example/tenants/${ids.tenant}`
    return async (authorization: string) => (await handler(new Request(url, { headers: { authorization } }))).ok
  }
  const key = await importJWK({ ...issuer.jwk }, "ES256")
  const options = {
    issuer: issuer.issuer,
    audience: issuer.audience,
    typ: "at+jwt",
    algorithms: ["ES256"],
    currentDate: new Date(issuer.clock.nowMs()),
  }
  const candidates: Record<string, (authorization: string) => Promise<boolean>> = {
    "jose.jwtVerify alone": async (authorization) =>
      (await jwtVerify(authorization.slice(7), key, options)).payload.jti !== undefined,
    "port, cold": port(nodeTokenCrypto, 0),
    "port, warm": port(nodeTokenCrypto, 2 * calls),
    "port, cold, WebCrypto": port(webTokenCrypto, 0),
    "port, warm, WebCrypto": port(webTokenCrypto, 2 * calls),
    "fetch with Request and Response, cold, WebCrypto": edge(0),
    "fetch with Request and Response, warm, WebCrypto": edge(2 * calls),
  }

  const times = new Map(Object.keys(candidates).map((name) => [name, [] as number[]]))
  // The first round warms everything up, the caches too, and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, call] of Object.entries(candidates)) {
      const before = process.cpuUsage()
      for (const header of headers) {
        if (!(await call(header))) throw new Error(`${name} refused a good token`)
      }
      const { user, system } = process.cpuUsage(before)
      if (round > 0) times.get(name)?.push((user + system) / calls)
    }
  }
  const medians = [...times].map(([name, all]) => [name, all.sort((a, b) => a - b)[rounds >> 1] ?? 0] as const)
  const reference = medians[0]?.[1] ?? 1
  return medians.map(([name, median]) => ({ name, "cpu us": median, ratio: median / reference }))
}
